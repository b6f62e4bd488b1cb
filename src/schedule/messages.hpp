// SPDX-License-Identifier: BSD-3-Clause
// Matches sends and receives.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// For op i of position p (paths[p][i]): the index of its partner, the op of the peer that it is
// matched with, or -1 if the op is no message.  Throws Error(argument) that names a message without
// a partner, or a message whose two sides differ in the number of blocks or, for some count, in the
// size of a block.
std::vector<std::vector<std::int32_t>> match(const std::vector<std::vector<Op>> &paths,
                                             const Partition &partition);

} // namespace stretto::schedule
