// SPDX-License-Identifier: BSD-3-Clause
// Chain broadcast: segments travel from the root around the circle of positions.
//
// Source: pipelined chain (the override phase of Proficz' SLT).
//
//   segment   a block of the vector; a position sends it on while the next arrives
//
//   5 ranks, root 3:   3 -> 4 -> 0 -> 1 -> 2
//
// Steps     P - 1 for each segment; with one port each way P - 2 + segments rounds of m / segments
// Messages  P - 1 for each segment; everybody but the last sends m bytes
// Good for long vectors; if ranks arrive at different times, the last ones delay no other rank if
// they are last in the chain.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

void append_chain_broadcast(Ops &ops, Position position, Position ranks, Position root,
                            Block segment, Lane lane) {
    if (position != root)
        ops.push_back(schedule::recv(shifted(position, -1, ranks), {segment}, kWork, lane));
    if (const Position next = shifted(position, 1, ranks); next != root)
        ops.push_back(schedule::send(next, {segment}, kWork, lane));
}

Algorithm broadcast::chain() {
    return {.name = "chain",
            .collective = Collective::broadcast,
            .summary = "segments travel from the root around the circle",
            .source = "pipelined chain; Proficz 2018 (SLT)",
            .parameters = {kChainSegments},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    const Block segments = parameter(problem, "segments");
                    return assemble(Collective::broadcast, problem, Partition::even(segments),
                                    asymmetric,
                                    [ranks = problem.ranks, root = problem.root,
                                     segments](Ops &ops, Position p) {
                                        for (Block s = 0; s < segments; ++s)
                                            append_chain_broadcast(ops, p, ranks, root, s);
                                    });
                },
            .for_arrivals = chain_for_arrivals,
            .in_a_chain = true};
}

} // namespace stretto::algorithms
