// SPDX-License-Identifier: BSD-3-Clause
// Binds ranks to the positions of a schedule.
#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The schedule in which rank `order[p]` does what position p does and owns what it owns.  So a
// schedule that is made for positions sorted by arrival runs for any order of arrival, and is
// proved once for all orders.  The rank at the root's position is the root.
//
// Throws Error(argument) if `order` is no permutation of the positions, or all of them differ
// (Contract::custom).
Schedule bind(Schedule schedule, std::vector<Position> order);

} // namespace stretto::schedule
