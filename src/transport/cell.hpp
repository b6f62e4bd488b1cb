// SPDX-License-Identifier: BSD-3-Clause
// A cell of a publish stream: how one rank hands bytes to others.
//
// A cell starts on a cache line with 16 bytes {flag, where}; the payload follows.  The flag of the
// cell at position x of a call with signature s is s + x.  Both sides compute it from what they
// know alike, so data of another call, of another operation or of an older lap of the ring is never
// taken for it: signatures are hashes under a random key, so old payload looks like a flag with
// probability 2^-64 a look.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace stretto::transport {

inline constexpr std::size_t kLine = 64;
inline constexpr std::size_t kCellHeader = 16;

struct Cell {
    std::atomic<std::uint64_t> flag;
    std::uint64_t where; // 0: the payload follows; else 1 + its offset in the owner's heap window

    std::byte *payload() { return reinterpret_cast<std::byte *>(this) + kCellHeader; }
    const std::byte *payload() const {
        return reinterpret_cast<const std::byte *>(this) + kCellHeader;
    }
};
static_assert(sizeof(Cell) == kCellHeader);

// Bytes that a payload takes in a ring.
constexpr std::size_t cell_bytes(std::size_t payload) {
    return (payload + kCellHeader + kLine - 1) / kLine * kLine;
}

inline void publish(Cell &cell, std::uint64_t flag) {
    cell.flag.store(flag, std::memory_order_release);
}

// Whether the cell is published; if so, its payload may be read.
//
// Who looks early reads a word that may be payload of an older lap, or be just being written as
// such.  That is meant, and only the look that finds the flag counts: ThreadSanitizer is told of
// that one alone, so that it still finds payload which is read too early or overwritten too soon.
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("thread"), noinline)) inline bool published(Cell &cell,
                                                                       std::uint64_t flag) {
    if (__atomic_load_n(reinterpret_cast<volatile std::uint64_t *>(&cell.flag), __ATOMIC_ACQUIRE) !=
        flag)
        return false;
    __tsan_acquire(&cell.flag);
    return true;
}
#else
inline bool published(const Cell &cell, std::uint64_t flag) {
    return cell.flag.load(std::memory_order_acquire) == flag;
}
#endif

} // namespace stretto::transport
