// SPDX-License-Identifier: BSD-3-Clause
#include "select/explain.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "base/status.hpp"
#include "select/candidates.hpp"
#include "select/correction.hpp"

namespace stretto::select {

namespace {

// What algorithms that compose others are shown with: between hosts what is good for short and what
// for long vectors, with one leader of each host and with all.
std::vector<algorithms::Choice> forms(const algorithms::Algorithm &algorithm,
                                      const Situation &situation) {
    if (!algorithm.of_hosts || situation.hosts == 1)
        return {{&algorithm, {}}};
    std::vector<algorithms::Choice> found;
    for (const char *inter : {"ring", "circulant", "recursive_doubling"})
        for (const char *leaders : {"", ",leaders=1"})
            found.push_back(
                algorithms::parse(algorithm.collective,
                                  std::string(algorithm.name) + "(inter=" + inter + leaders + ")"));
    return found;
}

// Algorithms that run only if callers name them: shown, but not compared.
void add_requested(const Situation &situation, Explanation &result,
                   const std::function<cost::Prediction(const schedule::Schedule &)> &predicted) {
    for (const algorithms::Algorithm &each : algorithms::all()) {
        if (each.collective != situation.collective || !each.by_request)
            continue;
        for (const algorithms::Choice &form : forms(each, situation)) {
            Candidate candidate;
            candidate.excluded = obstacle(form, situation);
            candidate.by_request = true;
            candidate.algorithm = algorithms::to_text(form);
            try {
                if (candidate.excluded.empty())
                    candidate.prediction = predicted(make(form, situation));
            } catch (const Error &error) {
                if (error.status() != Status::unsupported)
                    throw;
                candidate.excluded = "takes too long to price";
            }
            result.candidates.push_back(std::move(candidate));
        }
    }
}

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
        if (each.choice.algorithm->by_request)
            continue;
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
    add_requested(situation, result, [&](const schedule::Schedule &made) {
        return cost::Prediction{
            price_of(made, situation).seconds,
            schedule::account(made, made.partition.fitting(result.count), situation.element)};
    });
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
        if (each.collective != situation.collective || each.by_request)
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
    add_requested(situation, result, [&](const schedule::Schedule &made) {
        return cost::predict(made, made.partition.fitting(elements(situation)), situation.element,
                             slice, machine);
    });
    return result;
}

} // namespace stretto::select
