// SPDX-License-Identifier: BSD-3-Clause
// Circulant reduce-scatter: every round halves what a position still works on, for any number of
// ranks.
//
// Source: Träff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", arXiv
// 2410.14234, algorithm 1.
//
//   block b   belongs to position b
//   round     p sends the upper half of its offsets to the position whose own they begin with
//             (circulant.hpp); skips are ceil(P / 2), ceil(P / 4), ..., 1
//
//   5 ranks    skip 3                   skip 2              skip 1
//   0          3 4 to 3, 0 1 from 2     2 to 2, 0 from 3    1 to 1, 0 from 4
//   1          4 0 to 4, 1 2 from 3     3 to 3, 1 from 4    2 to 2, 1 from 0
//   4          2 3 to 2, 4 0 from 1     1 to 1, 4 from 2    0 to 0, 4 from 3
//
// Block 0 becomes ((0 2) 3)(4 1) up to the sides of pairs: no order of positions, from P = 3 on.
//
// Steps     ceil(log2 P)
// Messages  ceil(log2 P) sent by each; P - 1 blocks, (P - 1) / P m bytes, the least possible
// Good for small to long vectors over a network, any P.  Commutative operations only (P > 2).  No
// scratch.
#include "algorithms/circulant.hpp"
#include "algorithms/catalog.hpp"

namespace stretto::algorithms {

Algorithm reduce_scatter::circulant() {
    return {
        .name = "circulant",
        .collective = Collective::reduce_scatter,
        .summary = "halve the remaining blocks along a circulant graph, for any number of ranks",
        .source = "Träff 2024 (arXiv 2410.14234)",
        .parameters = {},
        .runs = always,
        .order_preserving = up_to<2>,
        .consistent = always,
        .canonical = up_to<2>,
        .make =
            [](const Problem &problem) {
                return alike_by_owner(assemble(
                    Collective::reduce_scatter, problem, by_owner(problem),
                    Group::cyclic(problem.ranks), [ranks = problem.ranks](Ops &ops, Position p) {
                        append_circulant_reduce_scatter(ops, p, ranks, halving_rounds(ranks));
                    }));
            },
        .unequal_shares = true};
}

} // namespace stretto::algorithms
