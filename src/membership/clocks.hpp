// SPDX-License-Identifier: BSD-3-Clause
// What the clocks of the ranks are apart.
//
// A rank reads the clock of the reference, the lowest rank that lives, as NTP does (RFC 5905):
//
//     own clock         sent ---------                      -------> back
//     reference's                      --> arrived    left --
//
// The reference is ahead by ((arrived - sent) + (left - back)) / 2, wrong by at most half of the
// time on the way, (back - sent) - (left - arrived), for nobody knows how that divides into there
// and back. So of several readings the quickest counts, and an older one the less the older it is.
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
    // Nothing if the times contradict one another: more time there than the whole took.
    void add(const ClockReading &reading);
    // The best of the last readings, seen from `now` of this rank's clock: what to add to it to get
    // the reference's.
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

// The table of all offsets.  The reference makes it of what the others report and publishes it
// whenever it has changed by more than the error; all hold the last two versions, so ranks that
// name the version can compute with the same numbers.
class ClockTable {
public:
    explicit ClockTable(int ranks);

    // At the reference: what a rank reports.
    void report(int rank, const Offset &offset);
    // At the reference: the next version, if there is anything new, and all of `members` have
    // reported.
    std::optional<Offsets> publish(int reference, const RankSet &members);
    // An older version than the one held is none.
    void hold(const Offsets &offsets);
    // Another epoch, whose reference may be another rank: nothing is reported to it yet.  Versions
    // of an epoch are higher than those of all before it.
    void start_over(std::uint32_t epoch);

    const std::optional<Offsets> &latest() const { return latest_; }
    std::optional<Offsets> version(std::uint32_t version) const;

private:
    std::vector<std::optional<Offset>> reported_;
    std::uint32_t least_version_ = 1;
    std::optional<Offsets> latest_, previous_;
};

} // namespace stretto::membership
