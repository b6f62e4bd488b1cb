// SPDX-License-Identifier: BSD-3-Clause
#include "select/explain.hpp"

#include <algorithm>

#include "algorithms/algorithm.hpp"

namespace stretto::select {

Explanation explain(const Situation &situation) {
    Explanation result;
    result.choice = choose(situation);
    Machine machine;
    machine.cores = situation.cores;
    const std::size_t slice = slice_bytes(situation);
    double least = 0;
    for (const algorithms::Algorithm &each : algorithms::all()) {
        if (each.collective != situation.collective)
            continue;
        Candidate &candidate = result.candidates.emplace_back();
        candidate.algorithm = each.name;
        candidate.excluded = obstacle({&each, {}}, situation);
        if (!candidate.excluded.empty())
            continue;
        const schedule::Schedule made = algorithms::make({&each, {}}, situation.ranks);
        // Where every rank has a part, of which all are equal, the vector is a little longer.
        std::size_t count = situation.bytes / situation.element;
        if (const auto parts = static_cast<std::size_t>(situation.ranks);
            schedule::in_parts(situation.collective))
            count = (count + parts - 1) / parts * parts;
        if (situation.collective == schedule::Collective::barrier)
            count = 1; // the number that nobody looks at
        candidate.prediction = predict(made, count, situation.element, slice, machine);
        result.count = std::max(result.count, count);
        if (result.cheapest.empty() || candidate.prediction.seconds < least) {
            result.cheapest = each.name;
            least = candidate.prediction.seconds;
        }
    }
    return result;
}

} // namespace stretto::select
