// SPDX-License-Identifier: BSD-3-Clause
// Ranks bound to positions: who does what a schedule says of each.
#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The schedule in which `order[p]` does what position p does, and owns what that owns.  So one that
// is made for positions sorted by arrival serves whatever order ranks come in, and is proved once
// for all of them.
//
// Throws Error(argument) if `order` is no permutation of the positions, and where one of them is
// the root: it would be bound as well.
Schedule bind(Schedule schedule, std::vector<Position> order);

} // namespace stretto::schedule
