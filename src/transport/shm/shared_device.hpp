// SPDX-License-Identifier: BSD-3-Clause
// Device memory that a rank shares with the other ranks of its host: what they need to find it.
//
// A rank lists its allocations in its lines, in a few slots.  It gives a place in one of
// them (DevicePlace) in a cell, for what others read there, or in its entry, for what they write.
// A slot says the same as long as a call in flight has given places in it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stretto::transport {

// One allocation, written before the place of any buffer in it is given.
struct SharedAllocation {
    std::uint64_t process;                // a random number of the owner's process
    std::uint64_t base;                   // its address in that process
    std::uint64_t bytes;                  // 0: the slot is empty
    std::uint64_t buffer;                 // its number in that process, which no other one gets
    std::array<unsigned char, 64> handle; // for other processes
};

struct SharedDevice {
    static constexpr unsigned kListedAllocations = 8;
    static constexpr std::size_t kMostDevices = 8;

    // The device of this rank's memory, a hash of its UUID; 0: not known yet.
    std::atomic<std::uint32_t> device;
    // The devices whose memory this rank reads and writes, its own among them; then zeros.
    std::array<std::atomic<std::uint32_t>, kMostDevices> reaches;
    std::array<SharedAllocation, kListedAllocations> allocations;
    // For the rank itself: where its memory is, and that of others is opened.
    std::uintptr_t context;
};

// Whether a rank reads and writes memory of another one's device.
inline bool reaches(const SharedDevice &mine, const SharedDevice &its) {
    const std::uint32_t device = its.device.load(std::memory_order_acquire);
    return device != 0 &&
           std::any_of(mine.reaches.begin(), mine.reaches.end(), [&](const auto &one) {
               return one.load(std::memory_order_acquire) == device;
           });
}

// A byte in an allocation that a rank shares, in 60 bits: 1, the slot, and the distance from the
// allocation's base, which may be negative for a part of a vector that is elsewhere.  So adding
// bytes to a place gives the place of a later byte, and no place is an offset in the shared heap.
class DevicePlace {
public:
    static constexpr std::uint64_t of(unsigned slot, std::int64_t distance) {
        return kFlag | std::uint64_t{slot} << kDistanceBits |
               ((static_cast<std::uint64_t>(distance) + kDistanceBias) & kDistanceMask);
    }
    static constexpr bool is_one(std::uint64_t word) { return (word & ~(kFlag - 1)) == kFlag; }

    explicit constexpr DevicePlace(std::uint64_t word) : word_(word) {}
    constexpr unsigned slot() const {
        return static_cast<unsigned>((word_ & (kFlag - 1)) >> kDistanceBits);
    }
    constexpr std::int64_t distance() const {
        return static_cast<std::int64_t>((word_ & kDistanceMask) - kDistanceBias);
    }

private:
    static constexpr unsigned kDistanceBits = 56;
    static constexpr std::uint64_t kFlag = std::uint64_t{1} << 59;
    static constexpr std::uint64_t kDistanceMask = (std::uint64_t{1} << kDistanceBits) - 1;
    static constexpr std::uint64_t kDistanceBias = std::uint64_t{1} << (kDistanceBits - 1);
    std::uint64_t word_;
};

} // namespace stretto::transport
