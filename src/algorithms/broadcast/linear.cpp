// SPDX-License-Identifier: BSD-3-Clause
// Linear broadcast: the root sends its vector to everybody.
//
// Source: basic linear algorithm (Open MPI's name).
//
//   5 ranks, root 3:   3 -> 4, 3 -> 0, 3 -> 1, 3 -> 2
//
// Steps     1
// Messages  P - 1 of m bytes, all out of the root's port (in shared memory one cell that all read)
// Good in shared memory, for few ranks and for small vectors.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

void append_linear_broadcast(Ops &ops, Position position, Position ranks, Position root,
                             Lane lane) {
    if (position != root) {
        ops.push_back(schedule::recv(root, {0}, kWork, lane));
        return;
    }
    for (Position ahead = 1; ahead < ranks; ++ahead)
        ops.push_back(schedule::send(shifted(root, ahead, ranks), {0}, kWork, lane));
}

Algorithm broadcast::linear() {
    return {.name = "linear",
            .collective = Collective::broadcast,
            .summary = "the root sends to all ranks",
            .source = "basic linear algorithm",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = [](const Problem &problem) {
                return assemble(Collective::broadcast, problem, Partition::even(1), asymmetric,
                                [ranks = problem.ranks, root = problem.root](Ops &ops, Position p) {
                                    append_linear_broadcast(ops, p, ranks, root);
                                });
            }};
}

} // namespace stretto::algorithms
