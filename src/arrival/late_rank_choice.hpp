// SPDX-License-Identifier: BSD-3-Clause
// Calls of ranks that share memory: whether ranks wait until only one rank is missing, whichever
// that is, and reduce without it (transport/shm/late_rank_detector.hpp, late_last).
//
// No model says what that is worth: it depends on which ranks have a core, and on how far apart
// caches are.  So it is measured: the mean over ranks of what a call takes from the last arrival
// on.
//
//   synchronous   the synchronous choice runs the calls.  If the last rank usually arrives later
//                 than a call takes, waiting is tried:
//   tried         ranks wait.  After kMedianCalls calls with a late rank, or kTrialCalls in all:
//                 if calls took kGainFactor of the time or less, ranks go on waiting; else the
//                 synchronous choice runs kRestCalls calls, each time twice as many, up to
//                 kMostRestCalls
//   kept          ranks wait, as long as one is late.  After kReviewCalls calls the synchronous
//                 choice is measured again
//
// All ranks see the same numbers, and so they conclude the same.
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

    // Before a call: whether ranks wait, and how long after the others a rank is late, in
    // nanoseconds.
    bool waits() const { return state_ != State::synchronous; }
    std::uint64_t grace() const { return grace_; }

    // After it: how long after the last but one the last rank arrived, in nanoseconds, and whether
    // it was late by that.
    void add(std::uint64_t gap, bool late);
    // Then, before the next one: what it took, in nanoseconds; 0: unknown.
    void took(std::uint64_t time);

    // Of the last calls, the medians, in nanoseconds; 0: unknown.
    double gap() const { return median_of(gaps_); }
    double synchronous() const { return median_of(synchronous_); }
    double late_last() const { return median_of(late_last_); }

private:
    using Times = std::deque<std::uint64_t>;
    enum class State { synchronous, tried, kept };
    static double median_of(const Times &times);
    static void keep(Times &times, std::uint64_t time);
    bool comes_late() const;
    void enter(State state);

    State state_ = State::synchronous;
    std::uint64_t calls_ = 0; // in this state
    std::uint64_t rest_ = 0, next_rest_ = kRestCalls;
    std::uint64_t grace_ = 0;
    Times gaps_, synchronous_, late_last_;
    // Of the last call.
    bool waited_ = false, late_ = false;
    std::uint64_t last_gap_ = 0;
};

} // namespace stretto::arrival
