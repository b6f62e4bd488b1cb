// SPDX-License-Identifier: BSD-3-Clause
// Chain reduce: partial sums travel from both ends of the line of positions to the root, segment
// after segment.
//
// Source: the pipeline of Patarasuk & Yuan and of Proficz (the reduction of SLT), with two arms so
// that operands stay in the order of positions for any root.
//
//   segment   a block of the vector; while one is reduced at p, the next is on its way to p
//
//   5 ranks, root 3:   0 -> 1 -> 2 -> 3 <- 4     each segment becomes (((0 1) 2) 3) 4
//
// Steps     P - 1 if the root is an end of the line, else max(root + 1, P - 1 - root), for each
//           segment; with one port each way about that many + segments - 1 rounds of m / segments
// Messages  P - 1 for each segment; everybody sends m bytes
// Good for long vectors on links that allow no more than m bytes per port.  An inner root receives
// 2 m.  If ranks arrive at different times, the last ones delay no other rank if they are next to
// the root.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/lateness.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

void append_chain_reduce(Ops &ops, Position position, Position ranks, Position root, Block segment,
                         Lane lane) {
    const auto reduce_from = [&](Position peer) {
        ops.push_back(
            schedule::recv_reduce(peer, {segment}, side_of(peer, position), kWork, kWork, lane));
    };
    if (position > 0 && position <= root)
        reduce_from(position - 1);
    if (position < ranks - 1 && position >= root)
        reduce_from(position + 1);
    if (position != root)
        ops.push_back(
            schedule::send(position + (position < root ? 1 : -1), {segment}, kWork, lane));
}

std::vector<Values> chain_for_arrivals(const Lateness &expected) {
    return {{{"segments", {expected.pieces(expected.ranks() - 1)}}}};
}

Algorithm reduce::chain() {
    return {.name = "chain",
            .collective = Collective::reduce,
            .summary = "segments travel from both ends of the line of ranks to the root",
            .source = "Patarasuk & Yuan 2009; Proficz 2018 (SLT), two arms: Stretto",
            .parameters = {kChainSegments},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = up_to<2>,
            .make =
                [](const Problem &problem) {
                    const Block segments = parameter(problem, "segments");
                    return assemble(Collective::reduce, problem, Partition::even(segments),
                                    asymmetric,
                                    [ranks = problem.ranks, root = problem.root,
                                     segments](Ops &ops, Position p) {
                                        for (Block s = 0; s < segments; ++s)
                                            append_chain_reduce(ops, p, ranks, root, s);
                                    });
                },
            .for_arrivals = chain_for_arrivals,
            .in_a_chain = true};
}

} // namespace stretto::algorithms
