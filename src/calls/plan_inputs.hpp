// SPDX-License-Identifier: BSD-3-Clause
// The values from which the plan of a call is made, if an algorithm of the library runs it.  They
// are copies, so any thread can make the plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/plan.hpp"
#include "schedule/schedule.hpp"
#include "schedule/topology.hpp"

namespace stretto::calls {

using Planned = std::unique_ptr<const engine::Plan>;

struct PlanInputs {
    schedule::Collective collective = schedule::Collective::allreduce;
    int ranks = 1, rank = 0, root = 0;
    std::vector<std::uint64_t> counts = {}; // of each rank, where they are given
    schedule::Topology topology = {};
    engine::PlanOptions options = {}; // without `content`

    // `order`: the rank at each position; empty: in order.  Throw Error if there is no such plan.
    schedule::Schedule schedule(const std::string &algorithm, const std::vector<int> &order) const;
    Planned plan(const std::string &algorithm, const std::vector<int> &order,
                 const engine::MemoryCheck &check = {}) const;
    // The plan of another schedule; `content` is a hash of it.
    Planned plan(const schedule::Schedule &schedule, std::uint64_t content,
                 const engine::MemoryCheck &check = {}) const;
};

// A hash of what a schedule has beside its name: the order of ranks.
std::uint64_t content_of(const std::vector<int> &order);

} // namespace stretto::calls
