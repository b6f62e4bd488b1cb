// SPDX-License-Identifier: BSD-3-Clause
// Binomial broadcast: down the tree of tree.hpp, the largest part of the tree first.
//
// Source: folklore.
//
//   5 ranks, root 0:   0 -> 4;  0 -> 2;  0 -> 1, 2 -> 3
//   5 ranks, root 3:   3 -> 4;  3 -> 0;  3 -> 2, 0 -> 1
//
// Steps     at most ceil(log2 P); floor(log2 P) from root 0
// Messages  P - 1 of m bytes; no rank sends more than ceil(log2 P)
// Good for small vectors over a network.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"
#include "algorithms/tree.hpp"

namespace stretto::algorithms {

void append_binomial_broadcast(Ops &ops, Position position, Position ranks, Position root,
                               Lane lane) {
    for (const Edge &edge : edges(position, ranks, root))
        if (position == edge.parent)
            ops.push_back(schedule::send(edge.child, {0}, kWork, lane));
        else
            ops.push_back(schedule::recv(edge.parent, {0}, kWork, lane));
}

Algorithm broadcast::binomial() {
    return {.name = "binomial",
            .collective = Collective::broadcast,
            .summary = "down a binomial tree",
            .source = "folklore",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = [](const Problem &problem) {
                return assemble(Collective::broadcast, problem, Partition::even(1), asymmetric,
                                [ranks = problem.ranks, root = problem.root](Ops &ops, Position p) {
                                    append_binomial_broadcast(ops, p, ranks, root);
                                });
            }};
}

} // namespace stretto::algorithms
