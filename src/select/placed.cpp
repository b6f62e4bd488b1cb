// SPDX-License-Identifier: BSD-3-Clause
#include "select/placed.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "select/candidates.hpp"

namespace stretto::select {

int position_of(int rank, std::span<const int> order) {
    return order.empty() ? rank : static_cast<int>(std::ranges::find(order, rank) - order.begin());
}

static std::vector<int> in_order(int ranks) {
    std::vector<int> order(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

Placed::Placed(const Situation &situation, const std::string &algorithm, std::vector<int> order)
    : situation_(situation), order_(order.empty() ? in_order(situation.ranks) : std::move(order)),
      made_(algorithms::make(algorithms::parse(situation.collective, algorithm), situation.ranks,
                             position_of(situation.root, order_), {},
                             topology_of(situation).ordered(order_))) {
    if (!situation.host_of.empty())
        for (std::size_t p = 0; p < order_.size(); ++p)
            situation_.host_of[p] = situation.host_of[static_cast<std::size_t>(order_[p])];
}

std::vector<double> Placed::means(std::span<const cost::Arrivals> cases) const {
    std::vector<cost::Arrivals> by_position;
    for (const cost::Arrivals &each : cases) {
        cost::Arrivals &here = by_position.emplace_back();
        for (const int rank : order_)
            here.push_back(each[static_cast<std::size_t>(rank)]);
    }
    std::vector<double> found;
    for (const cost::Elapsed &each : elapsed_of(made_, situation_, by_position))
        found.push_back(each.mean);
    return found;
}

} // namespace stretto::select
