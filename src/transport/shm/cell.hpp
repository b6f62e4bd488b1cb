// SPDX-License-Identifier: BSD-3-Clause
// A cell of a publish stream: how one rank hands bytes to others.
//
// A cell starts on a cache line with 16 bytes {flag, where}; a short payload follows.  A long one,
// *bulk*, lies in a ring of its own, so that it takes no room if it need not be stored: readers may
// read it in place in the shared heap, or find it in their output.  The flag of the cell at
// position x of a call with signature s is s + x.  Both sides compute it from the same data.  So a
// reader never mistakes bytes of another call, another operation or an older lap of the ring for
// it: signatures are hashes under a random key, so old payload looks like a flag with probability
// 2^-64 per look.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace stretto::transport {

inline constexpr std::size_t kLineBytes = 64;
inline constexpr std::size_t kCellHeaderBytes = 16;

// Where the payload of a cell is.
class Location {
public:
    enum class In : std::uint8_t {
        cell,      // behind the header
        bulk,      // at `offset` of the owner's bulk ring; if that is on another host, anywhere
        heap,      // at `offset` of the owner's heap window
        delivered, // in the outputs of all readers
        owner,     // at address `offset` of the owner's memory (peer_memory.hpp)
        device,    // at a DevicePlace, `offset`, of the owner (shared_device.hpp)
    };

    Location() = default;
    constexpr Location(In in, std::int64_t offset = 0)
        : word_(static_cast<std::uint64_t>(in) | static_cast<std::uint64_t>(offset) << kInBits) {}

    constexpr In in() const { return static_cast<In>(word_ & ((1u << kInBits) - 1)); }
    constexpr std::int64_t offset() const { return static_cast<std::int64_t>(word_) >> kInBits; }

private:
    static constexpr unsigned kInBits = 3;
    std::uint64_t word_ = 0;
};

struct Cell {
    std::atomic<std::uint64_t> flag;
    Location where;

    std::byte *payload() { return reinterpret_cast<std::byte *>(this) + kCellHeaderBytes; }
    const std::byte *payload() const {
        return reinterpret_cast<const std::byte *>(this) + kCellHeaderBytes;
    }
};
static_assert(sizeof(Cell) == kCellHeaderBytes);

// Shorter payloads are better in one piece with their header: two pieces cost the reader another
// 50 ns, which is 7 % of a call of 16 KiB.
inline constexpr std::size_t kLeastBulkBytes = 131072;

// Sizes of, or offsets in, the two rings of a rank.
struct Extent {
    std::uint64_t cells = 0, bulk = 0;
    Extent operator+(const Extent &other) const { return {cells + other.cells, bulk + other.bulk}; }
    Extent operator*(std::uint64_t times) const { return {cells * times, bulk * times}; }
    bool operator==(const Extent &) const = default;
};

// The room that a payload takes.  Bulk has the same offset from a cache line as a payload in its
// cell, and as large blocks of common allocators, so that copies between them are aligned alike.
constexpr Extent extent(std::size_t payload) {
    const std::size_t bytes = round_up(payload + kCellHeaderBytes, kLineBytes);
    return payload < kLeastBulkBytes ? Extent{bytes, 0} : Extent{kLineBytes, bytes};
}

inline void publish(Cell &cell, std::uint64_t flag) {
    cell.flag.store(flag, std::memory_order_release);
}

// Whether the cell is published; if so, its payload may be read.  A reader that looks too early
// reads a word that may be payload of an older lap, even one that is just being written.  This is
// intended: only the look that finds the flag counts.  Only that one is annotated for
// ThreadSanitizer, so that it still finds payload that is read too early or overwritten too soon.
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
