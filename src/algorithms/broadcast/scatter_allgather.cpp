// SPDX-License-Identifier: BSD-3-Clause
// Scatter and allgather: the root's vector is scattered down the binomial tree of tree.hpp, then
// the blocks go around a ring.
//
// Source: van de Geijn (Barnett et al., "Interprocessor collective communication library", 1994).
//
//   block b   belongs to position b; the head of a range of positions receives all their blocks
//
//   5 ranks, root 0:   0 -> 4: block 4;  0 -> 2: blocks 2 3;  0 -> 1: 1,  2 -> 3: 3
//                      then p sends block p - s in step s = 0 ... 3 to p + 1, unless p + 1 has it:
//                      step 0: 1 -> 2: block 1, 3 -> 4: 3, 4 -> 0: nothing, as 0 has all, ...
//
// So everybody receives every block exactly once, where the plain ring would send again what the
// heads hold from the scatter.
//
// Steps     at most ceil(log2 P) + P - 1
// Bytes     each rank except the root receives m; no rank sends more than about 2 m (P - 1) / P
// Good for long vectors over a network.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"
#include "algorithms/tree.hpp"

namespace stretto::algorithms {

// The blocks at a position after the scatter: all of them at the root, elsewhere those that came
// down the tree.
static Range scattered(Position position, Position ranks, Position root) {
    return position == root ? Range{0, ranks} : edges(position, ranks, root).front().below;
}

Algorithm broadcast::scatter_allgather() {
    return {.name = "scatter_allgather",
            .collective = Collective::broadcast,
            .summary = "scatter down a binomial tree, then a ring",
            .source = "van de Geijn; Barnett et al. 1994",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = [](const Problem &problem) {
                return assemble(
                    Collective::broadcast, problem, Partition::even(problem.ranks), asymmetric,
                    [ranks = problem.ranks, root = problem.root](Ops &ops, Position p) {
                        append_binomial_scatter(ops, p, ranks, root);
                        append_ring_allgather(
                            ops, p, ranks, 1, 1, [&](Position position, Position block) {
                                return scattered(position, ranks, root).contains(block);
                            });
                    });
            }};
}

} // namespace stretto::algorithms
