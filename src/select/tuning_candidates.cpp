// SPDX-License-Identifier: BSD-3-Clause
#include "select/tuning_candidates.hpp"

#include <algorithm>
#include <utility>

#include "cost/predict.hpp"
#include "select/candidates.hpp"

namespace stretto::select {

std::vector<std::string> tuning_candidates_in_memory(const Situation &s) {
    // A prediction is right within a factor of two.
    constexpr double kCloseFactor = 3;
    constexpr std::size_t kLeastCandidates = 3, kMostCandidates = 5;
    const std::string chosen = choose(s).algorithm;
    cost::Machine machine;
    machine.cores = s.cores;
    std::vector<std::pair<double, std::string>> all;
    for (const std::string_view name : able(s)) {
        const schedule::Schedule made = make({&algorithms::find(s.collective, name), {}}, s);
        const std::size_t count = made.partition.fitting(elements(s));
        all.emplace_back(cost::predict(made, count, s.element, slice_bytes(s), machine).seconds,
                         name);
    }
    std::ranges::stable_sort(all, {}, &std::pair<double, std::string>::first);
    std::vector<std::string> names = {chosen};
    for (const auto &[seconds, name] : all)
        if (name != chosen && names.size() < kMostCandidates &&
            (names.size() < kLeastCandidates || seconds <= kCloseFactor * all.front().first))
            names.push_back(name);
    return names;
}

} // namespace stretto::select
