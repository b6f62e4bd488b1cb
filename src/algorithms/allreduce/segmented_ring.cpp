// SPDX-License-Identifier: BSD-3-Clause
// Segmented ring: the ring with each chunk cut into segments, so that one segment is reduced while
// the next travels.
//
// Source: Ueno & Fukuda, "Exhaustive study of hierarchical AllReduce patterns for large messages
// between GPUs", CCGrid 2019 (the pipelined ring).
//
//   chunk c     belongs to position c
//   segment k   a piece of a chunk: block c * segments + k
//
//   3 ranks, 2 segments, what position 0 does first:
//       sends 4 (chunk 2, segment 0), receives 2;  sends 5, receives 3;  sends 2, receives 0; ...
//
// The gain needs the next segment's receive to be open while one is being reduced.  Segments are
// different blocks and nothing else orders them, so it is, without a window.
//
// Steps     2 (P - 1) for each segment
// Messages  2 (P - 1) segments sent by each, of m / (P segments) bytes
// Good where the ring is and reduction is slow beside the link; 2 segments reach the bandwidth
// bound.  Commutative operations only (P > 2).  No scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

Algorithm allreduce::segmented_ring() {
    return {.name = "segmented_ring",
            .collective = Collective::allreduce,
            .summary = "ring in which a segment is reduced while the next travels",
            .source = "Ueno & Fukuda 2019",
            .parameters = {{.name = "segments",
                            .fallback = 2,
                            .least = 1,
                            .most = 64,
                            .meaning = "pieces of each chunk"}},
            .runs = always,
            .order_preserving = up_to<2>,
            .consistent = always,
            .canonical = up_to<2>,
            .make = [](const Problem &problem) {
                const Block segments = parameter(problem, "segments");
                return alike_by_owner(assemble(
                    Collective::allreduce, problem, Partition::even(problem.ranks).refine(segments),
                    Group::cyclic(problem.ranks),
                    [ranks = problem.ranks, segments](Ops &ops, Position p) {
                        append_ring_reduce_scatter(ops, p, ranks, segments);
                        append_ring_allgather(ops, p, ranks, segments, 1);
                    }));
            }};
}

} // namespace stretto::algorithms
