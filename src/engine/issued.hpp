// SPDX-License-Identifier: BSD-3-Clause
// The steps of one run that an executor has taken and not completed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/executor.hpp"
#include "transport/shm/cell.hpp"

namespace stretto::engine {

class IssuedSteps {
public:
    // Steps are issued out of order within a window of the plan, so each has its own slot.
    static constexpr std::uint32_t kWindowSteps = 256;
    static constexpr std::uint32_t kNoStep = ~std::uint32_t{0};
    static constexpr std::uint32_t kNoDelegation = ~std::uint32_t{0};

    struct Slot {
        std::uint32_t step = 0;
        transport::Location where; // for its cell, if it publishes one
        std::uint64_t began = 0;   // for the trace
        Completion completion;
        std::vector<std::byte> operands; // copied from the memory of other ranks
        // Of a step that is not issued yet, by operand; and the step, or kNoStep.
        std::vector<std::unique_ptr<Prefetch>> prefetches;
        std::uint32_t prefetched = kNoStep;
        // Another rank launches its pass (pass_delegation.hpp): the number there, or kNoDelegation;
        // and the step of which the pass has come back, or kNoStep.
        std::uint32_t delegation = kNoDelegation, returned = kNoStep;
    };

    // `bell`: of an executor that signals, else null.
    explicit IssuedSteps(const std::shared_ptr<Bell> &bell) : signals_(bell != nullptr) {
        for (Slot &slot : slots_)
            slot.completion.rings(bell);
    }

    bool signals() const { return signals_; }
    bool none() const { return count_ == 0; }
    bool has(std::uint32_t step) const {
        const std::uint32_t place = step % kWindowSteps;
        return (words_[place / 64] >> (place % 64) & 1) != 0 && slots_[place].step == step;
    }
    // The slot of a step in the window.
    Slot &slot_of(std::uint32_t step) { return slots_[step % kWindowSteps]; }
    // The slot of a step that is about to be issued.
    Slot &place_of(std::uint32_t step) {
        Slot &slot = slot_of(step);
        slot.step = step;
        return slot;
    }
    void add(const Slot &slot) {
        const std::uint32_t place = slot.step % kWindowSteps;
        words_[place / 64] |= std::uint64_t{1} << (place % 64);
        ++count_;
    }
    void remove(std::uint32_t step) {
        const std::uint32_t place = step % kWindowSteps;
        words_[place / 64] &= ~(std::uint64_t{1} << (place % 64));
        --count_;
    }
    // Steps that wait for cells and whose operands are on their way: few, or the operands of late
    // steps would go before what other ranks wait for.
    static constexpr std::uint32_t kMostPrefetchedSteps = 4;
    bool may_prefetch(std::uint32_t step) {
        return prefetched_ < kMostPrefetchedSteps && slot_of(step).prefetched != step;
    }
    std::vector<std::unique_ptr<Prefetch>> &add_prefetches(std::uint32_t step) {
        ++prefetched_;
        slot_of(step).prefetched = step;
        return slot_of(step).prefetches;
    }
    void drop_prefetches(Slot &slot) {
        if (slot.prefetched == kNoStep)
            return;
        --prefetched_;
        slot.prefetched = kNoStep;
        slot.prefetches.clear();
    }
    // Drops those that nothing reads any more; true if none is left.
    bool drop_complete_prefetches() {
        bool all = true;
        for (Slot &slot : slots_) {
            if (slot.prefetched == kNoStep)
                continue;
            if (std::ranges::all_of(slot.prefetches, [](const std::unique_ptr<Prefetch> &each) {
                    return each == nullptr || each->complete();
                }))
                drop_prefetches(slot);
            else
                all = false;
        }
        return all;
    }
    void drop_prefetches() {
        for (Slot &slot : slots_)
            drop_prefetches(slot);
    }
    // Visits the slots of all issued steps; `visit` may remove the one that it is given.
    template<class Visit>
    void each(Visit &&visit) {
        for (std::uint32_t w = 0; w < words_.size(); ++w)
            for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1)
                visit(slots_[64 * w + static_cast<std::uint32_t>(std::countr_zero(bits))]);
    }

private:
    const bool signals_;
    std::array<std::uint64_t, kWindowSteps / 64> words_{}; // bit set of slots in use
    std::uint32_t count_ = 0, prefetched_ = 0;
    std::array<Slot, kWindowSteps> slots_;
};

} // namespace stretto::engine
