// SPDX-License-Identifier: BSD-3-Clause
// Schedules in which all positions are alike (schedule.hpp, `alike`).
#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::engine {

// The ops of a position, with the blocks of each op in the same order at all positions: ascending
// by their numbers as seen from the position or, for a receive, as seen from the sender, since the
// two sides of a message pair blocks by place.
std::vector<schedule::Op> path_alike(const schedule::Schedule &schedule,
                                     schedule::Position position);

// All blocks in such an order.
std::vector<schedule::Block> blocks_alike(const schedule::Schedule &schedule,
                                          schedule::Position position);

} // namespace stretto::engine
