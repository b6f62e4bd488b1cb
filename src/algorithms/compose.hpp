// SPDX-License-Identifier: BSD-3-Clause
// Composition: one schedule made of the schedules of groups.
//
//   part    a schedule of any collective, whose positions and blocks are some of the whole's
//   stage   parts that have no position in common
//
// A position runs its part of the first stage, then its part of the second, and so on.  There is no
// barrier between stages: ops of two stages are ordered where they touch the same block of the same
// slot, as any others, so a block goes on as soon as it is complete.
//
//   4 ranks on hosts 0 1 | 2 3, two blocks
//
//   stage 0   reduce-scatter of 0 1; of 2 3      0 has block 0 of its host, 1 has block 1
//   stage 1   allreduce of 0 2; of 1 3           block 0; block 1
//   stage 2   allgather of 0 1; of 2 3
//
// Blocks.  A block of a part stands for a list of blocks of the whole, in an order that both sides
// of a message share.  A block that stands for none is left out, and so are ops that have no block
// left.
//
// Lanes.  Each stage has lanes of its own, so a message of one stage is never taken for another's.
// Slots are shared: a stage that uses a slot again waits for the last reader of the same block.
//
// The verifier proves that the whole is right.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "algorithms/assemble.hpp"

namespace stretto::algorithms {

struct Part {
    std::shared_ptr<const Schedule> schedule; // without token and windows
    std::vector<Position> positions;          // positions of the whole, by position of the part
    std::vector<Blocks> blocks;               // blocks of the whole that each block stands for
};
using Stage = std::vector<Part>;

// Throws Error(argument) if a part has a token, a window, or not a place for each of its positions
// and blocks, or if a position is in two parts of a stage.
Schedule compose(Collective collective, const Problem &problem, Partition partition,
                 std::optional<Group> symmetry, std::vector<Stage> stages);

} // namespace stretto::algorithms
