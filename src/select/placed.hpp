// SPDX-License-Identifier: BSD-3-Clause
// A schedule, and which rank stands where in it: what it costs when ranks come at different times.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost/elapsed.hpp"
#include "schedule/schedule.hpp"
#include "select/select.hpp"

namespace stretto::select {

// Where a rank stands; in order if there is no order.
int position_of(int rank, std::span<const int> order);

class Placed {
public:
    // By name, with the rank at each position; none: in order.
    Placed(const Situation &situation, const std::string &algorithm, std::vector<int> order = {});

    const std::string &name() const { return made_.name; }
    // Seconds of each case, whose arrivals are by rank: the mean of finish - arrival.
    std::vector<double> means(std::span<const cost::Arrivals> cases) const;

private:
    Situation situation_;
    std::vector<int> order_;
    schedule::Schedule made_;
};

} // namespace stretto::select
