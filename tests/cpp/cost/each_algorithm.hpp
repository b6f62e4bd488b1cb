// SPDX-License-Identifier: BSD-3-Clause
// The schedule of every algorithm, for each number of ranks that it runs with.
#pragma once

#include "algorithms/algorithm.hpp"
#include "doctest.h"
#include "schedule/schedule.hpp"

namespace stretto::test {

template<class Visit>
void each_algorithm(schedule::Position most, Visit &&visit) {
    for (const algorithms::Algorithm &algorithm : algorithms::all())
        for (schedule::Position ranks = 1; ranks <= most; ++ranks)
            if (algorithm.runs(ranks)) {
                CAPTURE(schedule::name(algorithm.collective));
                CAPTURE(algorithm.name);
                CAPTURE(ranks);
                visit(algorithms::make({&algorithm, {}}, ranks));
            }
}

} // namespace stretto::test
