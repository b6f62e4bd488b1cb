// SPDX-License-Identifier: BSD-3-Clause
// Device memory that a rank shares with the other ranks of its host: what they need to find it.
//
// A rank lists its allocations where all see them.  It gives a place in one (DevicePlace) in a
// cell, for what others read there, or among its outputs, for what they write.  A slot says the
// same as long as a call in flight has given places in it.
//
// A process opens memory of others only at times when its driver may be asked (the executor knows
// them), so never in the middle of a call.  All listings of a host are counted.  A rank publishes
// how many of them it has seen, with all of their memory open.  So an owner knows which ranks read
// a place there, and gives it to no other; no rank asks another one in a call.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "transport/shm/delegation.hpp"
#include "transport/shm/one_pass.hpp"

namespace stretto::transport {

// One allocation.
struct SharedAllocation {
    std::uint64_t process;                // a random number of the owner's process
    std::uint64_t base;                   // its address in that process
    std::uint64_t bytes;                  // 0: there is none
    std::uint64_t buffer;                 // its number in that process, which no other one gets
    std::array<unsigned char, 64> handle; // for other processes

    bool overlaps(std::uint64_t first, std::uint64_t length) const {
        return base < first + length && first < base + bytes;
    }
};

// Some bytes of an allocation, for one other rank.
struct DevicePiece {
    SharedAllocation allocation;
    std::uint64_t first = 0;  // their address in the owner's process
    std::uint32_t device = 0; // as in SharedDevice

    std::uint64_t distance() const { return first - allocation.base; }
};

// Why a rank could not open an allocation: the error of its driver.
struct Refusal {
    int rank = 0;
    int error = 0; // 0: no rank has refused
};

// A place in a rank's list.  Others may read it while its owner writes: the owner makes its turn
// odd first and even last, and a reader checks the turn before and after, as in an Entry.
class SharedSlot {
public:
    // What it lists; nothing if it lists nothing, or while its owner writes.
    std::optional<SharedAllocation> read(std::uint32_t &turn) const {
        turn = turn_.load(std::memory_order_acquire);
        std::array<std::uint64_t, kWords> words;
        for (std::size_t i = 0; i < kWords; ++i)
            words[i] = words_[i].load(std::memory_order_acquire);
        if (turn % 2 != 0 || turn_.load(std::memory_order_relaxed) != turn)
            return std::nullopt;
        SharedAllocation allocation;
        std::memcpy(&allocation, words.data(), sizeof(allocation));
        return allocation.bytes != 0 ? std::optional(allocation) : std::nullopt;
    }
    std::optional<SharedAllocation> read() const {
        std::uint32_t turn = 0;
        return read(turn);
    }
    // Whether it has ever listed anything.  A rank uses its slots from the first one on.
    bool used() const { return turn_.load(std::memory_order_acquire) != 0; }

    // Called by its owner.  `listings` counts those of all ranks.
    void list(const SharedAllocation &allocation, std::atomic<std::uint64_t> &listings) {
        write(allocation);
        number_.store(listings.fetch_add(1, std::memory_order_acq_rel) + 1,
                      std::memory_order_release);
    }
    void clear() { write({}); }
    // Ranks that have opened so many listings have opened this one.  For the owner, and for ranks
    // to which it has given a place here.
    std::uint64_t number() const { return number_.load(std::memory_order_acquire); }

    // Called by a rank that could not open what it has read in this turn.
    void refuse(std::uint32_t turn, Refusal why) {
        refusal_.store(std::uint64_t{turn} << 32 |
                           std::uint64_t{static_cast<unsigned>(why.rank)} << kErrorBits |
                           static_cast<unsigned>(why.error),
                       std::memory_order_release);
    }
    Refusal refusal() const {
        const std::uint64_t word = refusal_.load(std::memory_order_acquire);
        if (word >> 32 != turn_.load(std::memory_order_acquire))
            return {};
        return {static_cast<int>((word & 0xffffffff) >> kErrorBits),
                static_cast<int>(word & ((1u << kErrorBits) - 1))};
    }

private:
    static constexpr std::size_t kWords = sizeof(SharedAllocation) / sizeof(std::uint64_t);
    static constexpr unsigned kErrorBits = 12;
    void write(const SharedAllocation &allocation) {
        const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
        std::array<std::uint64_t, kWords> words;
        std::memcpy(words.data(), &allocation, sizeof(allocation));
        turn_.store(turn + 1, std::memory_order_relaxed);
        for (std::size_t i = 0; i < kWords; ++i)
            words_[i].store(words[i], std::memory_order_release);
        turn_.store(turn + 2, std::memory_order_release);
    }

    std::atomic<std::uint32_t> turn_;
    std::array<std::atomic<std::uint64_t>, kWords> words_;
    std::atomic<std::uint64_t> refusal_;
    std::atomic<std::uint64_t> number_;
};

// The buffers of a call that other ranks may use now: the signature of the call, and the places of
// vector byte 0.  The signature is cleared first and set last, as the number of a call in an Entry.
// Places leave four bits for flags.
class SharedBuffers {
public:
    struct Places {
        std::uint64_t output = 0; // a DevicePlace; 0: others may not write it
        std::uint64_t input = 0;  // the same; 0: others may not read it
        bool in_place = false;    // the output is the call's input as well
        bool steps_share = false; // for the steps of the plan too, not only for one pass
    };
    void open(std::uint64_t signature, const Places &places) {
        signature_.store(0, std::memory_order_relaxed);
        output_.store(places.output | (places.in_place ? kInPlaceFlag : 0) |
                          (places.steps_share ? kStepsShareFlag : 0),
                      std::memory_order_release);
        input_.store(places.input, std::memory_order_release);
        signature_.store(signature, std::memory_order_release);
    }
    // Nothing: the rank has not come to the call, or is in a later one.
    std::optional<Places> of(std::uint64_t signature) const {
        if (signature_.load(std::memory_order_acquire) != signature)
            return std::nullopt;
        const std::uint64_t output = output_.load(std::memory_order_acquire);
        const std::uint64_t input = input_.load(std::memory_order_acquire);
        if (signature_.load(std::memory_order_relaxed) != signature)
            return std::nullopt;
        return Places{output & ~(kInPlaceFlag | kStepsShareFlag), input,
                      (output & kInPlaceFlag) != 0, (output & kStepsShareFlag) != 0};
    }

private:
    static constexpr std::uint64_t kInPlaceFlag = std::uint64_t{1} << 63;
    static constexpr std::uint64_t kStepsShareFlag = std::uint64_t{1} << 62;
    std::atomic<std::uint64_t> signature_, output_, input_;
};

struct SharedDevice {
    static constexpr unsigned kListedAllocations = 256;
    static constexpr std::size_t kMostDevices = 8;
    static constexpr std::size_t kCalls = OnePassWords::kCalls; // the latest

    // The device of this rank's memory, a hash of its UUID; 0: not known yet.
    std::atomic<std::uint32_t> device;
    // The devices whose memory this rank reads and writes, its own among them; then zeros.
    std::array<std::atomic<std::uint32_t>, kMostDevices> reaches;
    // Of all listings of the host the first so many are open here, as far as this rank reaches
    // their devices and their drivers let it.
    std::atomic<std::uint64_t> opened;
    std::array<SharedBuffers, kCalls> buffers; // by call number
    std::array<SharedSlot, kListedAllocations> allocations;
    Delegations delegations;
    OnePassWords one_pass;
    // For the rank itself: the context, and its number, in which that of others is opened.
    std::uintptr_t context;
    std::uint64_t context_number;
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
// bytes to a place gives the place of a later byte, and no place is 0.
class DevicePlace {
public:
    static constexpr std::uint64_t of(unsigned slot, std::int64_t distance) {
        return kFlag | std::uint64_t{slot} << kDistanceBits |
               ((static_cast<std::uint64_t>(distance) + kDistanceBias) & kDistanceMask);
    }
    explicit constexpr DevicePlace(std::uint64_t word) : word_(word) {}
    constexpr unsigned slot() const {
        return static_cast<unsigned>((word_ & (kFlag - 1)) >> kDistanceBits);
    }
    constexpr std::int64_t distance() const {
        return static_cast<std::int64_t>((word_ & kDistanceMask) - kDistanceBias);
    }

private:
    static constexpr unsigned kDistanceBits = 51;
    static constexpr std::uint64_t kFlag = std::uint64_t{1} << 59;
    static constexpr std::uint64_t kDistanceMask = (std::uint64_t{1} << kDistanceBits) - 1;
    static constexpr std::uint64_t kDistanceBias = std::uint64_t{1} << (kDistanceBits - 1);
    std::uint64_t word_;
};

} // namespace stretto::transport
