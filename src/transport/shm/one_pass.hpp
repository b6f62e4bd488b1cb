// SPDX-License-Identifier: BSD-3-Clause
// Calls that one process performs as one pass over the buffers of all ranks of a host, on a device
// that they share (engine/one_pass.cpp).
//
// Ranks need not have the same memory, so in each call each rank says whether its buffers allow
// that: it *asks* for one pass, or it does not.  The first rank, the *leader*, answers when all
// have entered, and those that have asked wait for its answer:
//
//     all have asked      the leader performs the call, and answers `done` when it has
//     else                it answers `by_steps`, and every rank goes on by the steps of its plan
//
// A leader that has not asked goes on by steps, and so do the others when they see that.
//
// Questions and answers have places by the number of the call.  A rank asks only if its place is
// free, and frees it when it has heard the answer.  The leader answers when no rank has an older
// question in that place: so it overwrites no answer that a rank waits for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stretto::transport {

enum class OnePassAnswer : std::uint8_t { none, by_steps, done };

class OnePassWords {
public:
    static constexpr std::size_t kCalls = 64;

    // Of the rank that owns these words, before it enters the call.  False: the place is in use.
    bool ask(std::uint64_t call) {
        std::atomic<std::uint64_t> &place = questions_[call % kCalls];
        if (place.load(std::memory_order_relaxed) != 0)
            return false;
        place.store(call + 1, std::memory_order_release);
        return true;
    }
    void hear(std::uint64_t call) { questions_[call % kCalls].store(0, std::memory_order_release); }
    // What stands in the place of a call: whether its owner asks for this call, still for an older
    // one, or already for a newer one, as a rank does that has left this one, or goes by its steps.
    enum class Question : std::uint8_t { none, this_call, older_call, newer_call };
    Question question(std::uint64_t call) const {
        const std::uint64_t word = questions_[call % kCalls].load(std::memory_order_acquire);
        return word == call + 1  ? Question::this_call
               : word == 0       ? Question::none
               : word < call + 1 ? Question::older_call
                                 : Question::newer_call;
    }

    // Of the leader.
    void answer(std::uint64_t call, OnePassAnswer what) {
        answers_[call % kCalls].store((call + 1) << kAnswerBits | static_cast<std::uint64_t>(what),
                                      std::memory_order_release);
    }
    OnePassAnswer answer(std::uint64_t call) const {
        const std::uint64_t word = answers_[call % kCalls].load(std::memory_order_acquire);
        return word >> kAnswerBits == call + 1
                   ? static_cast<OnePassAnswer>(word & ((1u << kAnswerBits) - 1))
                   : OnePassAnswer::none;
    }

private:
    static constexpr unsigned kAnswerBits = 2;
    std::array<std::atomic<std::uint64_t>, kCalls> questions_, answers_;
};

} // namespace stretto::transport
