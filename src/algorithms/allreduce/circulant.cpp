// SPDX-License-Identifier: BSD-3-Clause
// Circulant allreduce: optimal in bytes, and ceil(log2 P) rounds each way for any number of ranks.
//
// Source: Träff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", arXiv
// 2410.14234: reduce_scatter/circulant.cpp, then allgather/circulant.cpp.
//
//   5 ranks, position 0:   3 4 to 3, 0 1 from 2;  2 to 2, 0 from 3;  1 to 1, 0 from 4
//                          0 to 4, 1 from 1;  0 to 3, 2 from 2;  0 1 to 2, 3 4 from 3
//
// Steps     2 ceil(log2 P); one less for 2^k < P <= 3/2 2^k
// Messages  2 ceil(log2 P) sent by each; 2 (P - 1) blocks, 2 (P - 1) / P m bytes, the least
// possible Good over a network for middle-sized and long vectors, above all where P is no power of
// two, as no rank is folded.  Commutative operations only (P > 2).  No scratch.
#include "algorithms/circulant.hpp"
#include "algorithms/catalog.hpp"

namespace stretto::algorithms {

Algorithm allreduce::circulant() {
    return {.name = "circulant",
            .collective = Collective::allreduce,
            .summary = "halve the remaining blocks along a circulant graph and back, for any P",
            .source = "Träff 2024 (arXiv 2410.14234)",
            .parameters = {},
            .runs = always,
            .order_preserving = up_to<2>,
            .consistent = always,
            .canonical = up_to<2>,
            .make = [](const Problem &problem) {
                return alike_by_owner(assemble(
                    Collective::allreduce, problem, Partition::even(problem.ranks),
                    Group::cyclic(problem.ranks), [ranks = problem.ranks](Ops &ops, Position p) {
                        const Rounds rounds = halving_rounds(ranks);
                        append_circulant_reduce_scatter(ops, p, ranks, rounds);
                        append_circulant_allgather(ops, p, ranks, rounds, kWork, 1);
                    }));
            }};
}

} // namespace stretto::algorithms
