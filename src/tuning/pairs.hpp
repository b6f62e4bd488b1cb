// SPDX-License-Identifier: BSD-3-Clause
// What a network is like as a whole, by what was measured between rank 0 and several others.
#pragma once

#include <string>
#include <vector>

#include "cost/price.hpp"

namespace stretto::tuning {

using cost::Link;

struct Surveyed {
    int rank;          // the other one
    std::string place; // where it is: " (10.0.0.7)"
    cost::Link link;
    std::string how; // it was measured (survey.hpp)
};

// Of one its link, and how it was measured, with which rank.  Of several the median of each number,
// and in words how far they are apart and who stands out: whose messages or bytes take half as long
// again as the median, or more.  Of none the link that is assumed.
cost::Link of_pairs(const std::vector<Surveyed> &all, const cost::Link &assumed, std::string &how);

} // namespace stretto::tuning
