// SPDX-License-Identifier: BSD-3-Clause
// Reads of another process's memory in place may hit a page that is there no more, if that process
// has ended.  The kernel then sends SIGBUS to the reading thread, which would end the reader too.
//
// While a thread runs guarded work, the handler of this file ends that work instead.  Any other
// SIGBUS goes to the handler that was there before.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace stretto::transport {

// Installs the handler, once in a process.  Called before any guarded work.
void install_fault_guard();

// The memory that guarded work reads in other processes: `bytes` at each of these addresses.
struct GuardedReads {
    const void *const *addresses = nullptr;
    std::size_t count = 0, bytes = 0;
};

// Runs work(context), which may call only functions that neither take locks nor own memory: if a
// page of the reads is not there, they just end.  Returns the number of that read, or kNoRead.
inline constexpr std::size_t kNoRead = ~std::size_t{0};
std::size_t run_guarded(const GuardedReads &reads, void (*work)(void *), void *context);

template<class Work>
std::size_t guarded(const GuardedReads &reads, Work &&work) {
    using Plain = std::remove_reference_t<Work>;
    return run_guarded(
        reads, [](void *context) { (*static_cast<Plain *>(context))(); }, std::addressof(work));
}

} // namespace stretto::transport
