// SPDX-License-Identifier: BSD-3-Clause
// Linear reduce: everybody sends its vector to the root, which reduces them one by one.
//
// Source: basic linear algorithm (Open MPI's name).
//
// The root works outwards from itself, so that operands stay in the order of positions.
//
//   5 ranks, root 2:   2 receives 1, 0 on the left, then 3, 4 on the right:  ((0 (1 2)) 3) 4
//
// Steps     P - 1: each receive reduces into the result of the one before
// Messages  P - 1 of m bytes, all into the root's port
// Good for few ranks and small vectors.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

void append_linear_reduce(Ops &ops, Position position, Position ranks, Position root, Lane lane) {
    if (position != root) {
        ops.push_back(schedule::send(root, {0}, kWork, lane));
        return;
    }
    for (Position peer = root - 1; peer >= 0; --peer)
        ops.push_back(schedule::recv_reduce(peer, {0}, Side::left, kWork, kWork, lane));
    for (Position peer = root + 1; peer < ranks; ++peer)
        ops.push_back(schedule::recv_reduce(peer, {0}, Side::right, kWork, kWork, lane));
}

Algorithm reduce::linear() {
    return {.name = "linear",
            .collective = Collective::reduce,
            .summary = "all ranks send to the root, which reduces one by one",
            .source = "basic linear algorithm",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = up_to<2>,
            .make = [](const Problem &problem) {
                return assemble(Collective::reduce, problem, Partition::even(1), asymmetric,
                                [ranks = problem.ranks, root = problem.root](Ops &ops, Position p) {
                                    append_linear_reduce(ops, p, ranks, root);
                                });
            }};
}

} // namespace stretto::algorithms
