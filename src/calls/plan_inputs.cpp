// SPDX-License-Identifier: BSD-3-Clause
#include "calls/plan_inputs.hpp"

#include <utility>

#include "algorithms/algorithm.hpp"
#include "base/mix.hpp"
#include "schedule/bind.hpp"
#include "select/placed.hpp"

namespace stretto::calls {

schedule::Schedule PlanInputs::schedule(const std::string &algorithm,
                                        const std::vector<int> &order) const {
    schedule::Schedule made =
        algorithms::make(algorithms::parse(collective, algorithm), ranks,
                         select::position_of(root, order), counts, topology.ordered(order));
    return order.empty() ? made : schedule::bind(std::move(made), order);
}

Planned PlanInputs::plan(const std::string &algorithm, const std::vector<int> &order,
                         const engine::MemoryCheck &check) const {
    return plan(schedule(algorithm, order), content_of(order), check);
}

Planned PlanInputs::plan(const schedule::Schedule &schedule, std::uint64_t content,
                         const engine::MemoryCheck &check) const {
    engine::PlanOptions with_content = options;
    with_content.content = content;
    return engine::compile(schedule, rank, with_content, check);
}

std::uint64_t content_of(const std::vector<int> &order) {
    std::uint64_t content = 0;
    for (const int rank : order)
        content = mix(content, static_cast<std::uint64_t>(rank) + 1);
    return content;
}

} // namespace stretto::calls
