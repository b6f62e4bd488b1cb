// SPDX-License-Identifier: BSD-3-Clause
// Calls of ranks that share memory: whether they wait until only one of them is missing, whoever
// that is, and reduce without it (transport/shm/late_rank_detector.hpp, late_last).
//
// No model says what that is worth: it depends on who has a core, and on how far apart caches are.
// So it is measured, by what a call takes from when the last rank has come, the mean over ranks:
//
//   usual     the balanced choice serves.  Where the last rank comes later, as a rule, than all
//             that takes, it is tried:
//   tried     ranks wait.  After kMedianCalls calls in which one was late, if they are done in
//             19 of 20 parts of the time:
//   serves    ranks wait, as long as one comes late; after kReviewCalls calls what the balanced
//   choice
//             takes is measured again, from the beginning.
//             If it is not, the balanced choice serves for kRestCalls calls, twice as many the next
//             time, up to kMostRestCalls.
//
// All that it sees all ranks see, and so it says the same to all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace stretto::arrival {

class LateRankChoice {
public:
    static constexpr std::size_t kMedianCalls = 5;   // calls of which a median is taken
    static constexpr std::uint64_t kTrialCalls = 32; // calls that a trial takes at most
    static constexpr std::uint64_t kReviewCalls = 256, kRestCalls = 64, kMostRestCalls = 4096;
    static constexpr double kGainFactor = 0.95;

    // Before a call: whether ranks wait, and who comes how much later than the others is late, in
    // nanoseconds.
    bool waits() const { return state_ != State::usual; }
    std::uint64_t grace() const { return grace_; }

    // After it: how much later than the last but one the last one came, in nanoseconds, and whether
    // one was late by that.
    void add(std::uint64_t gap, bool late);
    // Then, before the next one: what it took, in nanoseconds; 0: unknown.
    void took(std::uint64_t time);

    // Of the last calls, the medians, in nanoseconds; 0: unknown.
    double usual_gap() const { return usual(gaps_); }
    double balanced() const { return usual(balanced_); }
    double elected() const { return usual(elected_); }

private:
    using Times = std::deque<std::uint64_t>;
    enum class State { usual, tried, serves };
    static double usual(const Times &times);
    static void keep(Times &times, std::uint64_t time);
    bool comes_late() const;
    void enter(State state);

    State state_ = State::usual;
    std::uint64_t calls_ = 0; // in this state
    std::uint64_t rest_ = 0, next_rest_ = kRestCalls;
    std::uint64_t grace_ = 0;
    Times gaps_, balanced_, elected_;
    // Of the last call.
    bool waited_ = false, late_ = false;
    std::uint64_t gap_ = 0;
};

} // namespace stretto::arrival
