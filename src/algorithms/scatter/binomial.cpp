// SPDX-License-Identifier: BSD-3-Clause
// Binomial scatter: blocks go down the tree of tree.hpp, those of a subtree together.
//
// Source: folklore; without renumbering of ranks for any root, Stretto.
//
//   block b   belongs to position b; the head of a range of positions receives all its blocks
//
//   5 ranks, root 0:   0 -> 4: block 4;  0 -> 2: blocks 2 3;  0 -> 1: 1, 2 -> 3: 3
//
// Steps     floor(log2 P) from root 0, at most ceil(log2 P)
// Messages  P - 1; no rank sends more than ceil(log2 P)
// Bytes     a head receives all blocks of its range: together about m / 2 log2 P
// Good for small blocks over a network.  No restrictions.  No scratch of its own; an engine whose
// ranks have room for their own block alone keeps a subtree's until it is sent.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"
#include "algorithms/tree.hpp"

namespace stretto::algorithms {

void append_binomial_scatter(Ops &ops, Position position, Position ranks, Position root) {
    for (const Edge &edge : edges(position, ranks, root)) {
        Blocks blocks = consecutive(edge.below.first, edge.below.size);
        ops.push_back(position == edge.parent ? schedule::send(edge.child, std::move(blocks))
                                              : schedule::recv(edge.parent, std::move(blocks)));
    }
}

Algorithm scatter::binomial() {
    return {.name = "binomial",
            .collective = Collective::scatter,
            .summary = "down a binomial tree, the blocks of a subtree together",
            .source = "folklore",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    return assemble(
                        Collective::scatter, problem, by_owner(problem), asymmetric,
                        [ranks = problem.ranks, root = problem.root](Ops &ops, Position p) {
                            append_binomial_scatter(ops, p, ranks, root);
                        });
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
