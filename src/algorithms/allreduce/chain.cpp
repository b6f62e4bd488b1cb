// SPDX-License-Identifier: BSD-3-Clause
// Chain, the segmented linear tree (SLT): segments are reduced along the line of positions and go
// around again as results.
//
// Source: Proficz, "Improving all-reduce collective operations for imbalanced process arrival
// patterns", J. Supercomput. 2018, figure 5; for one rank there is nothing to do (as printed it
// would send to itself).
//
//   segment   a block of the vector; the next is on its way while one is reduced
//
//   3 ranks:   reduce   0 -> 1 -> 2       segment 0: (0 1) 2, then segment 1, ...
//              result   2 -> 0 -> 1       P - 1 sends a result as soon as it has it
//
// It is reduce/chain.cpp with root P - 1, then broadcast/chain.cpp from there.  Both use the edges
// p -> p + 1, hence a lane for each.
//
// Steps     2 (P - 1) for each segment; with one port each way about 2 (P - 1) + segments - 1
//           rounds of m / segments bytes
// Messages  2 (P - 1) for each segment; an inner position sends 2 m bytes
// Good for long vectors when the last position comes last (bind ranks to positions by arrival) and
// for non-commutative operations.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/lateness.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

// Ranks send first slices before second ones.  So results of first slices, which wait for a late
// rank, have places in a ring before partial sums of second slices; if the ring is short, these
// wait as well.  Segments of one slice have no such order.
static std::vector<Values> for_arrivals(const Lateness &expected) {
    constexpr std::int64_t kMostFactor = 4; // more segments take longer than a ring holds back
    const std::int64_t best = expected.pieces(2.0 * (expected.ranks() - 1));
    std::vector<Values> found = {{{"segments", {best}}}};
    if (const std::int64_t whole = expected.slices(); whole > best && whole <= kMostFactor * best)
        found.push_back({{"segments", {whole}}});
    return found;
}

static void append(Ops &ops, Position position, Position ranks, Block segments) {
    const Position last = ranks - 1;
    for (Block s = 0; s < segments; ++s) {
        append_chain_reduce(ops, position, ranks, last, s);
        if (position == last)
            append_chain_broadcast(ops, position, ranks, last, s, 1);
    }
    if (position != last)
        for (Block s = 0; s < segments; ++s)
            append_chain_broadcast(ops, position, ranks, last, s, 1);
}

Algorithm allreduce::chain() {
    return {.name = "chain",
            .collective = Collective::allreduce,
            .summary = "segmented linear tree: along the line of ranks and around again",
            .source = "Proficz 2018 (SLT)",
            .parameters = {kChainSegments},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = up_to<3>,
            .make =
                [](const Problem &problem) {
                    const Block segments = parameter(problem, "segments");
                    return assemble(Collective::allreduce, problem, Partition::even(segments),
                                    asymmetric,
                                    [ranks = problem.ranks, segments](Ops &ops, Position p) {
                                        append(ops, p, ranks, segments);
                                    });
                },
            .for_arrivals = for_arrivals,
            .in_a_chain = true};
}

} // namespace stretto::algorithms
