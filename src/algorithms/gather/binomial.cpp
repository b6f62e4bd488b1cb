// SPDX-License-Identifier: BSD-3-Clause
// Binomial gather: blocks go up the tree of tree.hpp, those of a subtree together.
//
// Source: folklore; without renumbering of ranks for any root, Stretto.
//
//   block b   belongs to position b; the head of a range of positions collects all its blocks
//
//   5 ranks, root 0:   1 -> 0: block 1, 3 -> 2: 3;  2 -> 0: blocks 2 3;  4 -> 0: 4
//
// Steps     floor(log2 P) to root 0, at most ceil(log2 P)
// Messages  P - 1; no rank sends more than once, the root receives at most ceil(log2 P)
// Bytes     a head sends all blocks of its range: together about m / 2 log2 P
// Good for small blocks over a network.  No restrictions.  No scratch of its own; an engine whose
// ranks have room for their own block alone keeps a subtree's until it is sent.

#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"
#include "algorithms/tree.hpp"
#include "base/reversed.hpp"

namespace stretto::algorithms {

static void append(Ops &ops, Position position, Position ranks, Position root) {
    for (const Edge &edge : reversed(edges(position, ranks, root))) {
        Blocks blocks = consecutive(edge.below.first, edge.below.size);
        ops.push_back(position == edge.parent ? schedule::recv(edge.child, std::move(blocks))
                                              : schedule::send(edge.parent, std::move(blocks)));
    }
}

Algorithm gather::binomial() {
    return {.name = "binomial",
            .collective = Collective::gather,
            .summary = "up a binomial tree, the blocks of a subtree together",
            .source = "folklore",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    return assemble(Collective::gather, problem, by_owner(problem), asymmetric,
                                    [ranks = problem.ranks, root = problem.root](
                                        Ops &ops, Position p) { append(ops, p, ranks, root); });
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
