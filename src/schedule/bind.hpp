// SPDX-License-Identifier: BSD-3-Clause
// Ranks bound to positions: who does what a schedule says of each.
#pragma once

#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// The schedule in which `order[p]` does what position p does, and owns what that owns.  So one that
// is made for positions sorted by arrival serves whatever order ranks come in, and is proved once
// for all of them.  Who stands where the root is, is the root.
//
// Throws Error(argument) if `order` is no permutation of the positions, or all of them differ
// (Contract::custom).
Schedule bind(Schedule schedule, std::vector<Position> order);

} // namespace stretto::schedule
