// SPDX-License-Identifier: BSD-3-Clause
// Circulant allgather: reduce_scatter/circulant.cpp backwards.
//
// Source: Träff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", arXiv
// 2410.14234, algorithm 2.
//
//   block b   belongs to position b
//   round     p sends the first of what it holds, p, p + 1, ..., to p - skip (circulant.hpp); skips
//             are 1, ..., ceil(P / 4), ceil(P / 2)
//
//   5 ranks    skip 1               skip 2               skip 3
//   0          0 to 4, 1 from 1     0 to 3, 2 from 2     0 1 to 2, 3 4 from 3
//   1          1 to 0, 2 from 2     1 to 4, 3 from 3     1 2 to 3, 4 0 from 4
//   4          4 to 3, 0 from 0     4 to 2, 1 from 1     4 0 to 1, 2 3 from 2
//
// Steps     ceil(log2 P); one less for 2^k < P <= 3/2 2^k, where skips 1 and 2 send the same block
// Messages  ceil(log2 P) sent by each; P - 1 blocks, the least possible
// Good as bruck.cpp, with messages more even in size.  No restrictions, no scratch.
#include "algorithms/circulant.hpp"
#include "algorithms/catalog.hpp"

namespace stretto::algorithms {

Algorithm allgather::circulant() {
    return {.name = "circulant",
            .collective = Collective::allgather,
            .summary = "the blocks that a rank holds grow along a circulant graph, for any P",
            .source = "Träff 2024 (arXiv 2410.14234)",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    return alike_by_owner(assemble(Collective::allgather, problem,
                                                   by_owner(problem), Group::cyclic(problem.ranks),
                                                   [ranks = problem.ranks](Ops &ops, Position p) {
                                                       append_circulant_allgather(
                                                           ops, p, ranks, halving_rounds(ranks));
                                                   }));
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
