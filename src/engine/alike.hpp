// SPDX-License-Identifier: BSD-3-Clause
// Schedules in which all positions are alike (schedule.hpp, `alike`).
#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::engine {

// The ops of a position, with the blocks of each in the same order at all positions: that of their
// numbers as seen from it, and where they come from another, as seen from there, since the two
// sides of a message pair by place.
std::vector<schedule::Op> path_alike(const schedule::Schedule &schedule,
                                     schedule::Position position);

// All blocks in such an order.
std::vector<schedule::Block> blocks_alike(const schedule::Schedule &schedule,
                                          schedule::Position position);

} // namespace stretto::engine
