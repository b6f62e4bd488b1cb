// SPDX-License-Identifier: BSD-3-Clause
// Calls to which some ranks come late, one time these and another time those: nobody can say who,
// but that some are late can be said.
//
// Then ranks tell when they have come, and wait with their choice until only the late ones are
// missing (arrival/latecomers.hpp).  Those get the last positions of a schedule that is made for
// late ranks; and where all come soon after one another, the balanced choice serves.  It costs the
// others little, as they would wait for the late ones anyway.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cost/elapsed.hpp"

namespace stretto::arrival {

using cost::Arrivals;

struct Election {
    int late = 0;     // so many ranks at most
    double grace = 0; // seconds after the others: who has come by then is not late
};

// From the message of the last who is not late to the answer, about, in seconds.
inline constexpr double kElectedSeconds = 500e-6;

// Of each call, by position: seconds after the first, ascending.
std::vector<cost::Arrivals> by_position(std::span<const cost::Arrivals> recent);
// When the first, the second and so on usually come, whoever that is: the median of each.
cost::Arrivals shape_of(std::span<const cost::Arrivals> recent);

// For calls of this shape; nothing where no gap is longer than the grace.
std::optional<Election> election_for(const cost::Arrivals &shape, double grace);

// A call to which ranks come at these times.
struct Elected {
    bool late = false;    // some are
    cost::Arrivals begin; // when ranks set to work, by position; the first at 0
    double waited = 0;    // seconds before that, the mean over ranks
};
Elected elected(const cost::Arrivals &arrivals, const Election &election);

// All ranks in order, but the late ones last.
std::vector<int> late_last(int ranks, std::span<const int> late);

} // namespace stretto::arrival
