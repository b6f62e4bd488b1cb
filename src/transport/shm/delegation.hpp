// SPDX-License-Identifier: BSD-3-Clause
// Delegated passes: those that one rank of a host leaves to another one.
//
// Processes take turns on a device that they share, and each turn costs more than most passes
// (docs/gpu.md).  So a rank may post a pass, and a rank in another process, its *delegate*,
// launches it.  Posted passes lie in shared memory, in slots of the rank that posts them:
//
//           poster              delegate              delegate
//     free --------> posted  --------------> taken --------------> done, or failed
//                      |  `----------------------------------------> declined
//                      | poster
//                      `-----> free         (the poster frees what is done, failed or declined)
//
// Both ranks may change what is posted, so they do it by compare-and-swap.  A word holds the state
// together with a turn: a delegate cannot take one pass for the next in the same slot.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "base/types.hpp"

namespace stretto::transport {

// A byte of an allocation that a rank shares (DevicePlace).
struct DelegatedPlace {
    int rank = 0;
    std::uint64_t place = 0;
};

// A pass over memory of one device.
struct DelegatedPass {
    static constexpr std::size_t kMostPlaces = 128;

    bool reduces = false;
    Dtype dtype = Dtype::i8;
    ReduceOp op = ReduceOp::sum;
    bool rounds_each = false; // after each pair of operands
    std::uint64_t bytes = 0;  // of each operand and result
    std::uint32_t ins = 0, outs = 0;
    std::array<DelegatedPlace, kMostPlaces> places; // operands in fold order, then results

    void clear() { ins = outs = 0; }
    bool add(int rank, std::uint64_t place, std::uint32_t &count) {
        if (place == 0 || ins + outs == kMostPlaces)
            return false;
        places[ins + outs] = {rank, place};
        ++count;
        return true;
    }
};

class Delegation {
public:
    enum class State : std::uint8_t { free, posted, taken, done, failed, declined };

    // The poster's functions.
    State state() const { return state_of(word_.load(std::memory_order_acquire)); }
    int delegate() const { return delegate_of(word_.load(std::memory_order_relaxed)); }
    void post(int delegate, const DelegatedPass &pass) {
        const std::uint64_t turn = (word_.load(std::memory_order_relaxed) >> kTurnShift) + 1;
        write(pass);
        word_.store(turn << kTurnShift |
                        std::uint64_t{static_cast<unsigned>(delegate)} << kDelegateShift |
                        static_cast<std::uint64_t>(State::posted),
                    std::memory_order_seq_cst);
    }
    // False if the delegate was faster.
    bool cancel() {
        std::uint64_t word = word_.load(std::memory_order_acquire);
        return state_of(word) == State::posted &&
               word_.compare_exchange_strong(word, with(word, State::free),
                                             std::memory_order_acq_rel);
    }
    void free() {
        word_.store(with(word_.load(std::memory_order_relaxed), State::free),
                    std::memory_order_relaxed);
    }
    // Why it has failed.
    Error why() const {
        std::array<std::uint64_t, kTextWords> words;
        for (std::size_t i = 0; i < kTextWords; ++i)
            words[i] = places_[i].load(std::memory_order_relaxed);
        char text[kTextWords * sizeof(std::uint64_t)];
        std::memcpy(text, words.data(), sizeof(text));
        return {static_cast<Status>(bytes_.load(std::memory_order_relaxed)),
                std::string(text, strnlen(text, sizeof(text)))};
    }

    // The delegate's functions.  Its word, if it is posted for this rank; the pass may be torn if
    // it is cancelled meanwhile, which take() finds out.
    std::optional<std::uint64_t> posted(int rank, DelegatedPass &pass) const {
        const std::uint64_t word = word_.load(std::memory_order_acquire);
        if (state_of(word) != State::posted || delegate_of(word) != rank)
            return std::nullopt;
        return read(pass) ? std::optional(word) : std::nullopt;
    }
    bool take(std::uint64_t word, State next) {
        return word_.compare_exchange_strong(word, with(word, next), std::memory_order_acq_rel);
    }
    // Of a pass that this rank has taken.
    void end(State state) {
        word_.store(with(word_.load(std::memory_order_relaxed), state), std::memory_order_release);
    }
    void fail(Status status, std::string_view message) {
        char text[kTextWords * sizeof(std::uint64_t)] = {};
        std::memcpy(text, message.data(), std::min(message.size(), sizeof(text) - 1));
        std::array<std::uint64_t, kTextWords> words;
        std::memcpy(words.data(), text, sizeof(text));
        for (std::size_t i = 0; i < kTextWords; ++i)
            places_[i].store(words[i], std::memory_order_relaxed);
        bytes_.store(static_cast<std::uint64_t>(status), std::memory_order_relaxed);
        end(State::failed);
    }

private:
    static constexpr unsigned kDelegateShift = 8, kTurnShift = 32;
    static constexpr std::uint64_t kStateMask = 0xff;
    static constexpr std::size_t kTextWords = 32;

    static State state_of(std::uint64_t word) { return static_cast<State>(word & kStateMask); }
    static int delegate_of(std::uint64_t word) {
        return static_cast<int>((word & 0xffffffff) >> kDelegateShift);
    }
    static std::uint64_t with(std::uint64_t word, State state) {
        return (word & ~kStateMask) | static_cast<std::uint64_t>(state);
    }
    void write(const DelegatedPass &pass) {
        bytes_.store(pass.bytes, std::memory_order_relaxed);
        kind_.store(std::uint64_t{pass.ins} << 48 | std::uint64_t{pass.outs} << 32 |
                        (pass.reduces ? 1u << 24 : 0) | (pass.rounds_each ? 1u << 16 : 0) |
                        static_cast<std::uint64_t>(pass.op) << 8 |
                        static_cast<std::uint64_t>(pass.dtype),
                    std::memory_order_relaxed);
        for (std::size_t i = 0; i < pass.ins + pass.outs; ++i) {
            places_[i].store(pass.places[i].place, std::memory_order_relaxed);
            ranks_[i].store(static_cast<std::uint32_t>(pass.places[i].rank),
                            std::memory_order_relaxed);
        }
    }
    bool read(DelegatedPass &pass) const {
        const std::uint64_t kind = kind_.load(std::memory_order_relaxed);
        pass.bytes = bytes_.load(std::memory_order_relaxed);
        pass.ins = static_cast<std::uint32_t>(kind >> 48);
        pass.outs = static_cast<std::uint32_t>(kind >> 32 & 0xffff);
        pass.reduces = (kind >> 24 & 1) != 0;
        pass.rounds_each = (kind >> 16 & 1) != 0;
        pass.op = static_cast<ReduceOp>(kind >> 8 & 0xff);
        pass.dtype = static_cast<Dtype>(kind & 0xff);
        if (pass.ins + pass.outs > DelegatedPass::kMostPlaces)
            return false;
        for (std::size_t i = 0; i < pass.ins + pass.outs; ++i)
            pass.places[i] = {static_cast<int>(ranks_[i].load(std::memory_order_relaxed)),
                              places_[i].load(std::memory_order_relaxed)};
        return true;
    }

    std::atomic<std::uint64_t> word_; // turn, delegate, state
    std::atomic<std::uint64_t> bytes_, kind_;
    // Or the words of an error.
    std::array<std::atomic<std::uint64_t>, DelegatedPass::kMostPlaces> places_;
    std::array<std::atomic<std::uint32_t>, DelegatedPass::kMostPlaces> ranks_;
};

// The passes that a rank has posted, and what it says of those of others.
struct Delegations {
    static constexpr std::size_t kSlots = 32; // in flight
    // Whether the rank launches passes for others, and how many it launches now.
    std::atomic<std::uint32_t> launches, launching;
    // Passes that others have posted for it so far.
    std::atomic<std::uint64_t> posted;
    std::atomic<std::uint32_t> in_use; // bit set of its own slots
    std::array<Delegation, kSlots> slots;
};

} // namespace stretto::transport
