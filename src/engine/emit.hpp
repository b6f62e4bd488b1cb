// SPDX-License-Identifier: BSD-3-Clause
// Writes lowered and ordered passes as a plan.
#pragma once

#include <memory>

#include "engine/blocks.hpp"
#include "engine/lower.hpp"
#include "engine/order.hpp"
#include "engine/plan.hpp"
#include "schedule/schedule.hpp"

namespace stretto::engine {

// `tiled`: the plan covers a tile, so the call that plays it is longer than it is.
std::unique_ptr<Plan> emit(const schedule::Schedule &schedule, const Lowered &lowered,
                           const Order &order, Position position, const PlanOptions &options,
                           const Blocks &blocks, bool tiled);

} // namespace stretto::engine
