// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes about a call when it enters.  A rank has kEntries entries, and with
// nonblocking calls it may have more calls in flight: it may write its next call into an entry
// while another rank reads it.  So the writer clears the call's number first and sets it last, and
// a reader checks the number before and after.  Every store of the writer is a release and every
// load of the reader an acquire: a reader that has seen any field of the next call also sees that
// the number has changed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/shm/cell.hpp"

namespace stretto::transport {

// A short text, ended by a zero if there is room.
using Letters = std::array<std::uint64_t, 2>;

struct alignas(kLineBytes) Entry {
    std::atomic<std::uint64_t> sequence; // 1 + the call's number; 0: never used, or being written
    std::atomic<std::uint64_t> signature;
    std::atomic<std::uint64_t> count;  // the algorithm's code in the high bits (engine/run.hpp)
    std::atomic<std::uint64_t> packed; // by the engine's owner: collective, dtype, op, root
    std::atomic<std::uint64_t> output_heap;               // as the engine's Call says
    std::array<std::atomic<std::uint64_t>, 2> parameters; // of the algorithm, for messages
    std::atomic<bool> in_place;
};
static_assert(sizeof(Entry) == kLineBytes);
inline constexpr std::size_t kEntries = 8;

// The same, read consistently.
struct Entered {
    std::uint64_t sequence = 0; // as above
    std::uint64_t signature = 0, count = 0, packed = 0;
    std::uint64_t output_heap = 0;
    Letters parameters{};
    bool in_place = false;
};

// Called by the rank that owns the entry.
inline void enter(Entry &entry, const Entered &call) {
    entry.sequence.store(0, std::memory_order_relaxed);
    entry.signature.store(call.signature, std::memory_order_release);
    entry.count.store(call.count, std::memory_order_release);
    entry.packed.store(call.packed, std::memory_order_release);
    entry.output_heap.store(call.output_heap, std::memory_order_release);
    for (std::size_t i = 0; i < call.parameters.size(); ++i)
        entry.parameters[i].store(call.parameters[i], std::memory_order_release);
    entry.in_place.store(call.in_place, std::memory_order_release);
    entry.sequence.store(call.sequence, std::memory_order_release);
}

// The call of the entry; nothing if there is none, or if the entry changes meanwhile.  Tests use
// `between` to change it after the first look.
template<class Between>
std::optional<Entered> entered(const Entry &entry, Between &&between) {
    Entered call;
    call.sequence = entry.sequence.load(std::memory_order_acquire);
    between();
    call.signature = entry.signature.load(std::memory_order_acquire);
    call.count = entry.count.load(std::memory_order_acquire);
    call.packed = entry.packed.load(std::memory_order_acquire);
    call.output_heap = entry.output_heap.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < call.parameters.size(); ++i)
        call.parameters[i] = entry.parameters[i].load(std::memory_order_acquire);
    call.in_place = entry.in_place.load(std::memory_order_acquire);
    if (call.sequence == 0 || entry.sequence.load(std::memory_order_relaxed) != call.sequence)
        return std::nullopt;
    return call;
}
inline std::optional<Entered> entered(const Entry &entry) {
    return entered(entry, [] {});
}

} // namespace stretto::transport
