// SPDX-License-Identifier: BSD-3-Clause
// How the link between two ranks is measured: what to try next, and what the times say.
//
//   ping    one element there and one back: twice latency + overhead
//   burst   kBurstMessages messages of an element there, back to back, then one back: each after
//   the first
//           costs an overhead
//   stream  a vector there, then an element back.  From the times of a short and a long one
//           follows what a byte takes: whatever is the same in both drops out
//
// A network that is shaped lets the first bytes after a pause pass at once, as many as its bucket
// holds, and TCP begins with few bytes on the way at a time.  So at last short and long streams
// alternate without a pause, after a long one that does not count: the bucket is as empty, and the
// window as open, before the one as before the other.
//
// Nobody knows at first how slow a link is, so probes grow: a probe is planned from the times of
// the one before, and by them takes what time is left at most.  Times may be wrong: processors are
// busy with something else, and a sender stands still while its bucket fills.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "select/profile.hpp"

namespace stretto::tuning {

using cost::Link;

inline constexpr int kBurstMessages = 16;

// What all ranks are told to do, in this order.
struct Probe {
    std::uint32_t pings = 0;
    std::uint32_t lead = 0;                         // long streams that do not count
    std::uint32_t rounds = 0, small = 0, large = 0; // streams: of these bytes in turn
    std::uint32_t bursts = 0; // now that TCP lets so many messages be on their way
    bool operator==(const Probe &) const = default;
};
inline constexpr Probe kNoProbe{};

// Seconds.
struct Times {
    std::vector<double> pings, lead, small, large, bursts;
};

class Survey {
public:
    // What to try within so many seconds; kNoProbe: it is over.  The first is tried in any case.
    Probe next(double left);
    void took(const Probe &probe, const Times &times);

    // The numbers, but `reduce`, and in words how they were found; one that was not, or is not
    // plausible, is that of `assumed`, and the words say so.  A stream travels in pieces of
    // `slice` bytes.
    cost::Link link(const cost::Link &assumed, std::size_t slice, std::string &how) const;

private:
    double round_trip() const;
    double burst() const;
    double per_byte() const;
    double seconds_per_byte(double overhead, std::size_t slice) const;
    Probe streams(double left) const;
    Probe longest(double left) const;
    void repeat(Probe &probe, double left);

    bool begun_ = false, repeated_ = false, over_ = false;
    std::vector<double> pings_, bursts_;
    std::uint32_t streamed_ = 0; // bytes of the short ones among the longest streams so far
    Probe last_;                 // with streams, and their times
    Times times_;
};

} // namespace stretto::tuning
