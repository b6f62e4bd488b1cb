// SPDX-License-Identifier: BSD-3-Clause
// Circulant graphs: in every round position p talks to p + skip and p - skip, whatever the number
// of positions.
//
//   offset j  of position p is block p + j, around the circle; so offset 0 is what p owns
//   round     a reduce-scatter sends the partial sums of offsets skip ... skip + size - 1 to
//             p + skip, where they are offsets 0 ... size - 1
//
// Backwards this is an allgather: what p + skip holds of its offsets 0 ... size - 1 returns to p.
//
//   5 ranks, position 0       halving            doubling, backwards
//   round 1                   3 4 to 3           4 to 4
//   round 2                   2 to 2             2 3 to 2
//   round 3                   1 to 1             1 to 1
//
// Since size <= skip, no position receives what it is still sending.
#pragma once

#include <vector>

#include "algorithms/assemble.hpp"

namespace stretto::algorithms {

struct Round {
    Position skip, size;
};
using Rounds = std::vector<Round>; // in the order of a reduce-scatter

// P is halved, rounding up, until 1 is left: 5, 3, 2, 1 (Träff).
Rounds halving_rounds(Position ranks);
// The powers of two below P, from the largest (Bruck et al., reversed).
Rounds doubling_rounds(Position ranks);

// As many blocks as ranks, block b owned by position b, all in `slot`.
void append_circulant_reduce_scatter(Ops &ops, Position position, Position ranks,
                                     const Rounds &rounds, schedule::Slot slot = kWork,
                                     Lane lane = 0);
void append_circulant_allgather(Ops &ops, Position position, Position ranks, const Rounds &rounds,
                                schedule::Slot slot = kWork, Lane lane = 0);

} // namespace stretto::algorithms
