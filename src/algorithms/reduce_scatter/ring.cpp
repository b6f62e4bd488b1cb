// SPDX-License-Identifier: BSD-3-Clause
// Ring reduce-scatter: partial sums of P chunks travel around the ring at the same time, each
// ending at its owner.
//
// Source: Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 2009.
//
//   chunk c   belongs to position c; starts at c + 1 and passes everybody once
//   step s    position p sends chunk p - 1 - s to p + 1 and receives chunk p - 2 - s from p - 1
//
//   3 ranks    step 0                                step 1
//   0          sends 2 to 1, receives 1 from 2       sends 1 to 1, receives 0 from 2
//   1          sends 0 to 2, receives 2 from 0       sends 2 to 2, receives 1 from 0
//   2          sends 1 to 0, receives 0 from 1       sends 0 to 0, receives 2 from 1
//
// Chunk 0 becomes ((1) 2) 0: the order of positions, rotated, from P = 3 on.
//
// Steps     P - 1
// Messages  P - 1 sent by each, of m / P bytes: (P - 1) / P m bytes per port, the least possible
// Good for long vectors on links where only neighbours are close.  Commutative operations only
// (P > 2).  No scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

void append_ring_reduce_scatter(Ops &ops, Position position, Position ranks, Block segments,
                                Lane lane) {
    const Position next = shifted(position, 1, ranks), previous = shifted(position, -1, ranks);
    for (Position s = 0; s < ranks - 1; ++s) {
        const Block given = shifted(position, -1 - s, ranks) * segments;
        const Block taken = shifted(previous, -1 - s, ranks) * segments;
        for (Block k = 0; k < segments; ++k) {
            ops.push_back(schedule::send(next, {given + k}, kWork, lane));
            ops.push_back(schedule::recv_reduce(previous, {taken + k}, side_of(previous, position),
                                                kWork, kWork, lane));
        }
    }
}

Algorithm reduce_scatter::ring() {
    return {.name = "ring",
            .collective = Collective::reduce_scatter,
            .summary = "partial sums travel around a ring to their owners",
            .source = "Patarasuk & Yuan 2009",
            .parameters = {},
            .runs = always,
            .order_preserving = up_to<2>,
            .consistent = always,
            .canonical = up_to<2>,
            .make =
                [](const Problem &problem) {
                    return alike_by_owner(assemble(Collective::reduce_scatter, problem,
                                                   by_owner(problem), Group::cyclic(problem.ranks),
                                                   [ranks = problem.ranks](Ops &ops, Position p) {
                                                       append_ring_reduce_scatter(ops, p, ranks);
                                                   }));
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
