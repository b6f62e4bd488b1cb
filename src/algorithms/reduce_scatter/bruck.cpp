// SPDX-License-Identifier: BSD-3-Clause
// Bruck's allgather backwards: a reduce-scatter for any number of ranks.
//
// Source: Bruck & Ho, "Efficient global combine operations in multi-port message-passing systems",
// Parallel Processing Letters 1993.
//
//   block b   belongs to position b
//   round     allgather/bruck.cpp's, last to first, each message the other way and reduced
//             (circulant.hpp); skips are the powers of two below P, from the largest
//
//   5 ranks    skip 4               skip 2                   skip 1
//   0          4 to 4, 0 from 1     2 3 to 2, 0 1 from 3     1 to 1, 0 from 4
//   1          0 to 0, 1 from 2     3 4 to 3, 1 2 from 4     2 to 2, 1 from 0
//   4          3 to 3, 4 from 0     1 2 to 1, 4 0 from 2     0 to 0, 4 from 3
//
// Blocks have labels, so the shift that lets p begin at place 0 of its buffer is not needed.
//
// Steps     ceil(log2 P)
// Messages  ceil(log2 P) sent by each; P - 1 blocks, (P - 1) / P m bytes, the least possible
// Good as circulant.cpp, whose messages are more even in size.  Commutative operations only
// (P > 2).  No scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/circulant.hpp"

namespace stretto::algorithms {

Algorithm reduce_scatter::bruck() {
    return {.name = "bruck",
            .collective = Collective::reduce_scatter,
            .summary = "Bruck's allgather backwards, for any number of ranks",
            .source = "Bruck & Ho 1993",
            .parameters = {},
            .runs = always,
            .order_preserving = up_to<2>,
            .consistent = always,
            .canonical = up_to<2>,
            .make =
                [](const Problem &problem) {
                    return alike_by_owner(assemble(Collective::reduce_scatter, problem,
                                                   by_owner(problem), Group::cyclic(problem.ranks),
                                                   [ranks = problem.ranks](Ops &ops, Position p) {
                                                       append_circulant_reduce_scatter(
                                                           ops, p, ranks, doubling_rounds(ranks));
                                                   }));
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
