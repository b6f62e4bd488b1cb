// SPDX-License-Identifier: BSD-3-Clause
// Direct allgather: the owner of a block sends it to everybody.
//
// Source: linear (pairwise) exchange.
//
//   block b   belongs to position b
//
//   3 ranks:   0 sends block 0 to 1, 2 and receives block 2 of 2, block 1 of 1;  1, 2 alike
//
// Steps     1
// Messages  P (P - 1); everybody sends and receives (P - 1) / P of the whole vector
// Good in shared memory, where the sends of a block are one cell that all read, and when ranks are
// late.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

void append_direct_allgather(Ops &ops, Position position, Position ranks, Lane lane) {
    for (Position ahead = 1; ahead < ranks; ++ahead)
        ops.push_back(schedule::send(shifted(position, ahead, ranks), {position}, kWork, lane));
    for (Position back = 1; back < ranks; ++back) {
        const Position owner = shifted(position, -back, ranks);
        ops.push_back(schedule::recv(owner, {owner}, kWork, lane));
    }
}

Algorithm allgather::direct() {
    return {.name = "direct",
            .collective = Collective::allgather,
            .summary = "each rank sends its block to all ranks",
            .source = "linear exchange",
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
                                                       append_direct_allgather(ops, p, ranks);
                                                   }));
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
