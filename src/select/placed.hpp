// SPDX-License-Identifier: BSD-3-Clause
// A schedule with a rank at each position: its times if ranks come at different times.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cost/elapsed.hpp"
#include "schedule/schedule.hpp"
#include "select/select.hpp"

namespace stretto::select {

// The position of a rank; without an order, position = rank.
int position_of(int rank, std::span<const int> order);

class Placed {
public:
    // The algorithm's name, and the rank at each position; empty: in order.
    Placed(const Situation &situation, const std::string &algorithm, std::vector<int> order = {});

    const std::string &name() const { return made_.name; }
    // For each case, the mean over ranks of finish - arrival, in seconds; arrivals are by rank.
    std::vector<double> means(std::span<const cost::Arrivals> cases) const;

private:
    Situation situation_;
    std::vector<int> order_;
    schedule::Schedule made_;
};

} // namespace stretto::select
