// SPDX-License-Identifier: BSD-3-Clause
// Whether the simulator and SimGrid say the same.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cases.hpp"

namespace stretto::test {

struct Agreement {
    int cases = 0;
    double worst = 0; // of all that agree: of a finish time, the part by which the two differ
    // Cases in which a processor had to choose (Played::tied), and those of them that differ, but
    // agree if reductions take no time.
    int tied = 0, tied_differ = 0;
    std::vector<std::string> wrong; // all others that differ
};

// Finish times agree if they are the same whole picosecond, for all positions: the simulator knows
// no less.
Agreement compare(std::span<const Case> cases, simulate::Mode mode);

// Whether a byte that takes a millionth longer in SimGrid alone would be seen.
bool sees_what_is_wrong();

} // namespace stretto::test
