// SPDX-License-Identifier: BSD-3-Clause
// Binomial reduce: up the tree of tree.hpp, which is canonical for every root.
//
// Source: folklore; the tree in the order of positions for any root is Stretto's.
//
//   5 ranks, root 0:   1 -> 0, 3 -> 2;  2 -> 0;  4 -> 0      ((0 1)(2 3)) 4
//   5 ranks, root 3:   1 -> 0, 2 -> 3;  0 -> 3;  4 -> 3      the same tree, computed elsewhere
//
// Steps     ceil(log2 P)
// Messages  P - 1 of m bytes; the root receives at most ceil(log2 P)
// Good for small vectors, and wherever results must be reproducible.  No restrictions, no scratch.

#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"
#include "algorithms/tree.hpp"
#include "base/reversed.hpp"

namespace stretto::algorithms {

void append_binomial_reduce(Ops &ops, Position position, Position ranks, Position root, Lane lane) {
    for (const Edge &edge : reversed(edges(position, ranks, root)))
        if (position == edge.parent)
            ops.push_back(schedule::recv_reduce(edge.child, {0}, side_of(edge.child, position),
                                                kWork, kWork, lane));
        else
            ops.push_back(schedule::send(edge.parent, {0}, kWork, lane));
}

Algorithm reduce::binomial() {
    return {.name = "binomial",
            .collective = Collective::reduce,
            .summary = "up a binomial tree that is canonical for every root",
            .source = "folklore; in the order of ranks for any root: Stretto",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = [](const Problem &problem) {
                return assemble(Collective::reduce, problem, Partition::even(1), asymmetric,
                                [ranks = problem.ranks, root = problem.root](Ops &ops, Position p) {
                                    append_binomial_reduce(ops, p, ranks, root);
                                });
            }};
}

} // namespace stretto::algorithms
