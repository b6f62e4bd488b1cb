// SPDX-License-Identifier: BSD-3-Clause
// The late-rank detector: ranks that share memory find the rank that comes last to a call, by a
// counter.
//
// A rank that arrives adds 1 to one half of a word and its number to the other half.  The last but
// one finds all ranks but one counted, and computes from the sum of their numbers which one is
// missing.  It gives that rank a moment, the grace, and then writes which rank is late, by one
// compare and swap; the ranks that have arrived wait for this word.  If the last rank comes within
// the grace, it writes itself that no rank is late.  So no time is predicted, and there is exactly
// one answer, which all ranks see.
//
// Ranks need not wait for the answer.  Ranks that only count themselves learn afterwards how much
// later than the others the last one came, and with the next turn how long the call took from then
// on.  All learn the same: the results of a turn are written before or while ranks enter the next
// turn, and not overwritten before all have entered the turn after that.
//
// For calls in which every rank waits for every other; all ranks make them in the same order.
#pragma once

#include <cstdint>
#include <functional>

#include "transport/shm/segment.hpp"

namespace stretto::transport {

// One rank's part.
class LateRankDetector {
public:
    static constexpr int kNoRank = -1;

    // `segment` outlives it.
    LateRankDetector(Segment &segment, int rank);

    // This rank enters its next turn at `now` (of now_ns()).
    void come(std::uint64_t now);
    // Waits until it is known which rank comes later than the others by more than `grace_ns`.  All
    // ranks get the same answer, if all of them wait.  No rank counts as late if two or more do not
    // come within `patience_ns`, or if one has left; then the call itself finds out which rank is
    // missing.  Runs `meanwhile` now and then.  Throws the communicator's failure if it has failed.
    int latecomer(std::uint64_t grace_ns, std::uint64_t patience_ns,
                  const std::function<void()> &meanwhile);
    // The call of this turn has ended at `now`.  `counts`: false if the call took unusually long.
    void leave(std::uint64_t now, bool counts);

    // After the call: how many nanoseconds after the last but one the last rank came.
    std::uint64_t gap() const;
    // For the turn before: nanoseconds from the arrival of the last rank to the end, as the mean
    // over ranks; 0: unknown.
    std::uint64_t last_took() const;

private:
    class Wait;

    ArrivalCounter &arrival_counter() const { return segment_.header().arrival_counter; }
    ArrivalCounter::Times &times() const { return arrival_counter().times[turn_ & 1]; }
    // The decision of this turn, or nothing.
    bool decided(int &late) const;
    void decide(int late);

    Segment &segment_;
    const int rank_;
    std::uint64_t turn_ = 0;
    std::uint64_t came_ = 0;
    std::uint64_t before_ = 0; // the ranks that had come before
    std::uint64_t took_;       // the turn before
    bool last_ = false;
};

} // namespace stretto::transport
