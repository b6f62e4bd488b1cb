// SPDX-License-Identifier: BSD-3-Clause
// What calls are chosen for.
#pragma once

#include <algorithm>
#include <string>

#include "select/candidates.hpp"
#include "select/select.hpp"

namespace test {

inline stretto::select::Situation allreduce(int ranks, unsigned cores, std::size_t bytes) {
    stretto::select::Situation situation;
    situation.ranks = ranks;
    situation.cores = cores;
    situation.bytes = bytes;
    return situation;
}

// Seconds by price; of the choice 0 if it was not priced.
struct Costs {
    double own = 0, least = 1e9; // of all that can run
};

inline Costs costs(const stretto::select::Situation &situation,
                   const stretto::select::Effort &effort = {}) {
    const std::string chosen = stretto::select::choose(situation).algorithm;
    Costs costs;
    for (const stretto::select::Priced &each : stretto::select::priced(situation, effort)) {
        if (!each.excluded.empty())
            continue;
        costs.least = std::min(costs.least, each.price.seconds);
        if (each.name == chosen)
            costs.own = each.price.seconds;
    }
    return costs;
}

} // namespace test
