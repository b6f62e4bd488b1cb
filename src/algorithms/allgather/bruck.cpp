// SPDX-License-Identifier: BSD-3-Clause
// Bruck's allgather: what a position holds doubles with every step, for any number of ranks.
//
// Source: Bruck, Ho, Kipnis, Upfal & Weathersby, "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", TPDS 1997.
//
//   block b   belongs to position b
//   reach     how many blocks p holds: p, p + 1, ..., p + reach - 1, around the circle
//   step      p sends its first blocks, at most the P - reach that are missing, to p - reach and
//             receives as many from p + reach
//
//   5 ranks    reach 1            reach 2              reach 4
//   0          1 from 1           2 3 from 2           4 from 4
//   1          2 from 2           3 4 from 3           0 from 0
//   4          0 from 0           1 2 from 1           3 from 3
//
// Blocks have labels, so the final shift of the original, which lets p begin at place 0 of its
// buffer, is not needed.
//
// Steps     ceil(log2 P); one less where the last message is of blocks that were known a step
//           earlier, that is for 2^k < P <= 3/2 2^k
// Messages  ceil(log2 P) sent by each; P - 1 blocks, the least possible
// Good for small and middle-sized vectors over a network, any P.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/circulant.hpp"

namespace stretto::algorithms {

Algorithm allgather::bruck() {
    return {
        .name = "bruck",
        .collective = Collective::allgather,
        .summary = "the blocks that a rank holds double with every step, for any number of ranks",
        .source = "Bruck et al. 1997",
        .parameters = {},
        .runs = always,
        .order_preserving = always,
        .consistent = always,
        .canonical = always,
        .make =
            [](const Problem &problem) {
                return alike_by_owner(assemble(
                    Collective::allgather, problem, by_owner(problem), Group::cyclic(problem.ranks),
                    [ranks = problem.ranks](Ops &ops, Position p) {
                        append_circulant_allgather(ops, p, ranks, doubling_rounds(ranks));
                    }));
            },
        .unequal_shares = true};
}

} // namespace stretto::algorithms
