// SPDX-License-Identifier: BSD-3-Clause
// Calls at which some ranks are late, but other ones each time: how many is known, and not which.
//
// At such a call each rank reports that it has arrived, and all wait until only the late ranks are
// missing (latecomers.hpp).  Late ranks get the last positions of a schedule for late ranks.  If
// all ranks arrive soon after one another, the synchronous choice runs the call.  This costs the
// ranks that wait little, as they would have to wait for the late ones anyway.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cost/elapsed.hpp"

namespace stretto::arrival {

using cost::Arrivals;

// How late ranks are found.
struct Detection {
    int late = 0;     // so many ranks at most
    double grace = 0; // seconds after the others: a rank that arrives by then is not late
};

// From the report of the last rank that is not late to the answer, about, in seconds.
inline constexpr double kDetectionSeconds = 500e-6;

// Of each call, by position: seconds after the first, ascending.
std::vector<cost::Arrivals> by_position(std::span<const cost::Arrivals> recent);
// When the first rank, the second and so on arrive, whichever ranks these are: the median of each.
cost::Arrivals shape_of(std::span<const cost::Arrivals> recent);

// For calls of this shape; nothing if no gap is longer than the grace.
std::optional<Detection> detection_for(const cost::Arrivals &shape, double grace);

// What becomes of a call at which ranks arrive at given times.
struct Detected {
    bool late = false;    // some ranks are
    cost::Arrivals begin; // when ranks begin, by position, in seconds; the first at 0
    double waited = 0;    // seconds before that, the mean over ranks
};
Detected detected(const cost::Arrivals &arrivals, const Detection &detection);

// All ranks in order, but the late ones last.
std::vector<int> late_last(int ranks, std::span<const int> late);

} // namespace stretto::arrival
