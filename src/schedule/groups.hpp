// SPDX-License-Identifier: BSD-3-Clause
// Unordered groups: receives that reduce into one accumulator in the order of arrival.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The number of receives in each group of a path.  Throws Error(argument) unless all receives of a
// group have the same blocks and slot and no other op of the path touches these from the group's
// first receive to its last (such an op would read a sum that depends on the order of arrival).
std::map<std::int32_t, std::int32_t> groups(Position position, const std::vector<Op> &path);

} // namespace stretto::schedule
