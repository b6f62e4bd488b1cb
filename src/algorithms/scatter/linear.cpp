// SPDX-License-Identifier: BSD-3-Clause
// Linear scatter: the root sends each rank its block.
//
// Source: basic linear algorithm (Open MPI's name).
//
//   block b   belongs to position b
//
//   5 ranks, root 3:   3 -> 4: block 4, 3 -> 0: block 0, 3 -> 1: block 1, 3 -> 2: block 2
//
// Steps     1
// Messages  P - 1 of a block each, all out of the root's port
// Good in shared memory, and for long blocks anywhere.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

static void append(Ops &ops, Position position, Position ranks, Position root) {
    if (position != root) {
        ops.push_back(schedule::recv(root, {position}));
        return;
    }
    for (Position ahead = 1; ahead < ranks; ++ahead) {
        const Position owner = shifted(root, ahead, ranks);
        ops.push_back(schedule::send(owner, {owner}));
    }
}

Algorithm scatter::linear() {
    return {.name = "linear",
            .collective = Collective::scatter,
            .summary = "the root sends each rank its block",
            .source = "basic linear algorithm",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    return assemble(Collective::scatter, problem, by_owner(problem), asymmetric,
                                    [ranks = problem.ranks, root = problem.root](
                                        Ops &ops, Position p) { append(ops, p, ranks, root); });
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
