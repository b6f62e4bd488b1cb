// SPDX-License-Identifier: BSD-3-Clause
// The order of a program's ops, as the language defines it.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// before[i]: the ops that op i waits for, in ascending order: conflicts on a block of a slot,
// windows, `after` edges.  Waits that follow from others by transitivity are left out if that is
// cheap to see.  Receives of one unordered group do not wait for one another.
std::vector<std::vector<std::int32_t>> dependencies(const std::vector<Op> &ops, Window open);

} // namespace stretto::schedule
