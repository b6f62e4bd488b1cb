// SPDX-License-Identifier: BSD-3-Clause
// Ring allgather: every chunk travels around the ring from its owner.
//
// Source: Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 2009.
//
//   chunk c   belongs to position c
//   step s    position p sends chunk p - s to p + 1 and receives chunk p - 1 - s from p - 1
//
//   3 ranks    step 0                                step 1
//   0          sends 0 to 1, receives 2 from 2       sends 2 to 1, receives 1 from 2
//   1          sends 1 to 2, receives 0 from 0       sends 0 to 2, receives 2 from 0
//   2          sends 2 to 0, receives 1 from 1       sends 1 to 0, receives 0 from 1
//
// Steps     P - 1
// Messages  P - 1 sent by each, of m / P bytes (m: the whole vector)
// Good for long vectors on links where only neighbours are close.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

void append_ring_allgather(Ops &ops, Position position, Position ranks, Block segments, Lane lane,
                           const Holds &holds) {
    const Position next = shifted(position, 1, ranks), previous = shifted(position, -1, ranks);
    for (Position s = 0; s < ranks - 1; ++s) {
        const Position given = shifted(position, -s, ranks);
        const Position taken = shifted(previous, -s, ranks);
        const bool sends = !holds || !holds(next, given);
        const bool receives = !holds || !holds(position, taken);
        for (Block k = 0; k < segments; ++k) {
            if (sends)
                ops.push_back(schedule::send(next, {given * segments + k}, kWork, lane));
            if (receives)
                ops.push_back(schedule::recv(previous, {taken * segments + k}, kWork, lane));
        }
    }
}

Algorithm allgather::ring() {
    return {.name = "ring",
            .collective = Collective::allgather,
            .summary = "blocks travel around a ring",
            .source = "Patarasuk & Yuan 2009",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    return alike_by_owner(assemble(Collective::allgather, problem,
                                                   by_owner(problem), Group::cyclic(problem.ranks),
                                                   [ranks = problem.ranks](Ops &ops, Position p) {
                                                       append_ring_allgather(ops, p, ranks);
                                                   }));
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
