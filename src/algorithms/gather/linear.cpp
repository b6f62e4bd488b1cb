// SPDX-License-Identifier: BSD-3-Clause
// Linear gather: each rank sends its block to the root.
//
// Source: basic linear algorithm (Open MPI's name).
//
//   block b   belongs to position b
//
//   5 ranks, root 3:   4 -> 3: block 4, 0 -> 3: block 0, 1 -> 3: block 1, 2 -> 3: block 2
//
// Steps     1
// Messages  P - 1 of a block each, all into the root's port
// Good in shared memory, where the root reads the blocks in place, and for long blocks anywhere.
// No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

void append_linear_gather(Ops &ops, Position position, Position ranks, Position root, Lane lane) {
    if (position != root) {
        ops.push_back(schedule::send(root, {position}, kWork, lane));
        return;
    }
    for (Position ahead = 1; ahead < ranks; ++ahead) {
        const Position owner = shifted(root, ahead, ranks);
        ops.push_back(schedule::recv(owner, {owner}, kWork, lane));
    }
}

Algorithm gather::linear() {
    return {.name = "linear",
            .collective = Collective::gather,
            .summary = "each rank sends its block to the root",
            .source = "basic linear algorithm",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    return assemble(
                        Collective::gather, problem, by_owner(problem), asymmetric,
                        [ranks = problem.ranks, root = problem.root](Ops &ops, Position p) {
                            append_linear_gather(ops, p, ranks, root);
                        });
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
