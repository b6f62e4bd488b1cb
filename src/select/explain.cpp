// SPDX-License-Identifier: BSD-3-Clause
#include "select/explain.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "base/status.hpp"
#include "select/candidates.hpp"
#include "select/correction.hpp"

namespace stretto::select {

namespace {

// Over a network: each candidate with its price.
Explanation explain_prices(const Situation &situation) {
    Explanation result;
    result.choice = choose(situation);
    result.count = elements(situation);
    double least = 0;
    const std::vector<Priced> all = priced(situation);
    const std::vector<Correction> corrected = corrections(situation, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Priced &each = all[i];
        Candidate &candidate = result.candidates.emplace_back();
        candidate.algorithm = each.name;
        candidate.excluded = each.excluded;
        if (!each.excluded.empty())
            continue;
        const schedule::Schedule made = make(each.choice, situation);
        candidate.prediction = {
            each.price.seconds,
            schedule::account(made, made.partition.fitting(result.count), situation.element)};
        if (!corrected.empty()) {
            candidate.corrected = each.price.seconds * corrected[i].factor;
            candidate.measured = corrected[i].measured;
        }
        if (result.cheapest.empty() || each.price.seconds < least) {
            result.cheapest = each.name;
            least = each.price.seconds;
        }
    }
    return result;
}

} // namespace

Explanation explain(const Situation &situation) {
    if (situation.hosts > 1)
        return explain_prices(situation);
    Explanation result;
    result.choice = choose(situation);
    cost::Machine machine;
    machine.cores = situation.cores;
    const std::size_t slice = slice_bytes(situation);
    double least = 0;
    for (const algorithms::Algorithm &each : algorithms::all()) {
        if (each.collective != situation.collective)
            continue;
        Candidate &candidate = result.candidates.emplace_back();
        candidate.algorithm = each.name;
        candidate.excluded = unoffered({&each, {}}, situation);
        if (!candidate.excluded.empty())
            continue;
        const schedule::Schedule made = make({&each, {}}, situation);
        const std::size_t count = elements(situation);
        candidate.prediction = cost::predict(made, count, situation.element, slice, machine);
        result.count = std::max(result.count, count);
        candidate.corrected = measured_seconds(situation, candidate.algorithm);
        candidate.measured = candidate.corrected.has_value();
        if (result.cheapest.empty() || candidate.prediction.seconds < least) {
            result.cheapest = each.name;
            least = candidate.prediction.seconds;
        }
    }
    return result;
}

} // namespace stretto::select
