// SPDX-License-Identifier: BSD-3-Clause
// The late-rank detector: ranks that share memory elect the one that comes last to a call, by a
// counter.
//
// Whoever comes adds 1 to a word, and its number to the same word's other half.  Nobody knows that
// it is the last before it comes; but the last but one finds all but one counted, and by the sum of
// their numbers who that is.  It gives that one a moment, the grace, and then says who is late, by
// one compare and swap; who has come waits for that word.  If the last one comes within the grace
// it says itself that nobody is late.  So no time is predicted, no rank decides for another that
// sees something else, and there is one answer.
//
// Ranks need not wait: those who only count themselves learn afterwards how much later than the
// others the last one came, and with the next turn what the call took from then on.  All learn the
// same: what is said of a turn is said before or as ranks come to the next one, and not said over
// before they have come to the one after that.
//
// Of calls in which every rank waits for every other, all in the same order.
#pragma once

#include <cstdint>
#include <functional>

#include "transport/segment.hpp"

namespace stretto::transport {

// One rank's part.
class LateRankDetector {
public:
    static constexpr int kNoRank = -1;

    // `segment` outlives it.
    LateRankDetector(Segment &segment, int rank);

    // This rank comes to its next turn, at `now` by now_ns().
    void come(std::uint64_t now);
    // Waits until it shows who comes last, by more than `grace_ns`: the same on all ranks, if all
    // of them wait.  Nobody is late if not all but one come within `patience_ns`, or one of them
    // has left; then the call itself finds out who is missing.  Gets `meanwhile` done now and then.
    // Throws the communicator's failure if it has failed.
    int latecomer(std::uint64_t grace_ns, std::uint64_t patience_ns,
                  const std::function<void()> &meanwhile);
    // The call that this was a turn of has ended, at `now`.  Unless it took longer than it would
    // another time, that counts.
    void leave(std::uint64_t now, bool counts);

    // After the call, in nanoseconds: so much later than the last but one the last one came.
    std::uint64_t gap() const;
    // Of the turn before, from when the last one came to the end: the mean over ranks; 0: unknown.
    std::uint64_t last_took() const;

private:
    class Wait;

    ArrivalCounter &arrival_counter() const { return segment_.header().arrival_counter; }
    ArrivalCounter::Times &times() const { return arrival_counter().times[turn_ & 1]; }
    // What was decided in this turn, or nothing.
    bool decided(int &late) const;
    void decide(int late);

    Segment &segment_;
    const int rank_;
    std::uint64_t turn_ = 0;
    std::uint64_t came_ = 0;
    std::uint64_t before_ = 0; // who had come before
    std::uint64_t took_;       // the turn before
    bool last_ = false;
};

} // namespace stretto::transport
