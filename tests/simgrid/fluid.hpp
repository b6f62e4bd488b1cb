// SPDX-License-Identifier: BSD-3-Clause
// What the model cannot say: how finish times move where messages share links instead of taking
// turns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cases.hpp"
#include "play.hpp"

namespace stretto::test {

// Of times, those with links that are shared over those with ports.
struct Ratios {
    double least = 1e9, most = 0, sum = 0;
    int count = 0;

    void add(double ratio);
    double mean() const { return count == 0 ? 0 : sum / count; }
};

struct Movement {
    Ratios last; // of the last finish, counted from the last arrival
    Ratios mean; // of the mean time from arrival to finish
    // Cases in which a position was done sooner than all its bytes go through its link.
    std::vector<std::string> wrong;
};

Movement move(std::span<const Case> cases, simulate::Mode mode, Links links);

} // namespace stretto::test
