// SPDX-License-Identifier: BSD-3-Clause
// When ranks came to the last calls of one kind and what these took, and when each is expected to
// come to the next.
//
// What is added is the same on all ranks, and so is all that is said: whoever decides by it decides
// alike everywhere, without a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace stretto::arrival {

// Of a rank whose clock is not known yet, or that has not made a call of the kind before.
inline constexpr std::int64_t kUnknown = INT64_MIN;

// What a rank says with a call.
struct Stamp {
    std::int64_t came = kUnknown; // nanoseconds of one clock
    std::int64_t took = kUnknown; // nanoseconds: the call of this kind before, from its own arrival
    std::int64_t edges = 0;       // 1: it told how far its computation was, in the phase before
};

class History {
public:
    // Calls that count: an odd number, as the middle one of them is what is expected.  Of seven,
    // three in a row that were disturbed change nothing, and the fourth call of a new kind does.
    static constexpr std::size_t kCalls = 7;

    // By rank.  A call with an arrival that is not known tells nothing.
    void add(std::span<const Stamp> stamps);

    // That were added and are known.
    std::uint64_t calls() const { return calls_; }
    // Of the last kCalls calls, the latest last: seconds after the first to come, by rank.
    const std::deque<std::vector<double>> &recent() const { return recent_; }
    // Of the same calls: seconds from arrival to finish, the mean over ranks; not a number if it is
    // not known, as that of the latest never is.
    const std::deque<double> &elapsed() const { return elapsed_; }
    // Seconds after the first, by rank: the median of each rank's.  Empty before the first call.
    std::vector<double> expected() const;

private:
    std::uint64_t calls_ = 0;
    bool has_latest_ = false; // the latest call is one of the recent ones
    std::deque<std::vector<double>> recent_;
    std::deque<double> elapsed_;
};

} // namespace stretto::arrival
