// SPDX-License-Identifier: BSD-3-Clause
// The offsets between the clocks of the ranks.
//
// A rank reads the clock of the reference, the lowest rank that lives, as NTP does (RFC 5905):
//
//     own clock         sent ---------                      -------> back
//     reference's                      --> arrived    left --
//
// The reference is ahead by ((arrived - sent) + (left - back)) / 2.  The time on the way is
// (back - sent) - (left - arrived).  How it divides into the way there and the way back is not
// known, so the offset may be wrong by half of it.  Of several readings the one with the least
// error counts; the error of a reading grows with its age.
//
// Nothing here reads a clock: times are numbers in nanoseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "membership/message.hpp"
#include "membership/rank_set.hpp"

namespace stretto::membership {

struct ClockReading {
    std::uint64_t sent = 0, arrived = 0, left = 0, back = 0;
};

// Of one rank against the reference.
class ClockFilter {
public:
    // Ignores a reading whose times contradict one another.
    void add(const ClockReading &reading);
    // By the best of the last readings, at the time `now` of this rank's clock: what to add to this
    // clock to get the reference's.
    std::optional<Offset> estimate(std::uint64_t now) const;
    std::size_t readings() const { return count_; }

private:
    struct Entry {
        std::int64_t offset = 0;
        std::uint64_t error = 0, at = 0;
    };
    std::array<Entry, 16> entries_; // the last ones, in a ring
    std::size_t count_ = 0;
};

// The table of all offsets.  The other ranks report theirs to the reference, which publishes a new
// version of the table if an offset has changed by more than its error.  Each rank holds the last
// two versions, so ranks that name a version compute with the same numbers.
class ClockTable {
public:
    explicit ClockTable(int ranks);

    // At the reference: a rank reports its offset.
    void report(int rank, const Offset &offset);
    // At the reference: the next version, if an offset has changed and all of `members` have
    // reported theirs.
    std::optional<Offsets> publish(int reference, const RankSet &members);
    // Holds this version, unless it is older than the latest.
    void hold(const Offsets &offsets);
    // Begins another epoch, whose reference may be another rank: forgets the reports.  The versions
    // of an epoch are higher than those of all earlier epochs.
    void start_over(std::uint32_t epoch);

    const std::optional<Offsets> &latest() const { return latest_; }
    std::optional<Offsets> version(std::uint32_t version) const;

private:
    std::vector<std::optional<Offset>> reported_;
    std::uint32_t least_version_ = 1;
    std::optional<Offsets> latest_, previous_;
};

} // namespace stretto::membership
