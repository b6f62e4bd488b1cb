// SPDX-License-Identifier: BSD-3-Clause
// When ranks came to the last calls of one kind, and when each is expected to come to the next.
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

// Of a rank whose clock is not known yet.
inline constexpr std::int64_t kUnknown = INT64_MIN;

class History {
public:
    // Calls that count: an odd number, as the middle one of them is what is expected.  Of seven,
    // three in a row that were disturbed change nothing, and the fourth call of a new kind does.
    static constexpr std::size_t kCalls = 7;

    // Nanoseconds of one clock, by rank.  A call with an arrival that is not known tells nothing.
    void add(std::span<const std::int64_t> arrivals);

    // That were added and are known.
    std::uint64_t calls() const { return calls_; }
    // Of the last kCalls calls, the latest last: seconds after the first to come, by rank.
    const std::deque<std::vector<double>> &recent() const { return recent_; }
    // Seconds after the first, by rank: the median of each rank's.  Empty before the first call.
    std::vector<double> expected() const;

private:
    std::uint64_t calls_ = 0;
    std::deque<std::vector<double>> recent_;
};

} // namespace stretto::arrival
