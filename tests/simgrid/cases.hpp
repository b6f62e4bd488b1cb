// SPDX-License-Identifier: BSD-3-Clause
// What is compared: schedules, networks, and who comes when.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "simulate/simulate.hpp"

namespace stretto::test {

struct Case {
    std::string told; // of what, for who reads
    schedule::Schedule schedule;
    simulate::Problem problem; // its mode is to be chosen
};

// Of one algorithm at some numbers of ranks, each with all networks and arrivals; those made
// for arrivals also as they are made for these, at positions that are sorted by them.
std::vector<Case> cases_of(const algorithms::Algorithm &algorithm,
                           std::span<const schedule::Position> ranks);

} // namespace stretto::test
