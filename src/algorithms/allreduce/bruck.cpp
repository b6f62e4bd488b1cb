// SPDX-License-Identifier: BSD-3-Clause
// Bruck's allgather, its reverse before it, and the two shifts that they need between buffers.
//
// Source: Bruck & Ho, "Efficient global combine operations in multi-port message-passing systems",
// Parallel Processing Letters 1993; the rival that Kolmakov & Zhang, "A generalization of the
// allreduce operation", 2020, measure themselves by (sections 3 and 7).
//
//   shift     Bruck's buffers begin with a position's own block: the vector is copied into such a
//             buffer (slot 1) before the first round, and out of it after the last.  Both copies
//             are in the schedule, so that they are counted and timed.
//
//   5 ranks, position 0:   slot 1 = work
//                          4 to 4, 0 from 1;  2 3 to 2, 0 1 from 3;  1 to 1, 0 from 4
//                          0 to 4, 1 from 1;  0 1 to 3, 2 3 from 2;  0 to 1, 4 from 4
//                          work = slot 1
//
// Steps     2 ceil(log2 P); one less for 2^k < P <= 3/2 2^k
// Messages  2 ceil(log2 P) sent by each; 2 (P - 1) / P m bytes, the least possible; 2 m copied
// Good for comparison: circulant.cpp does the same without a shift.  Commutative operations only
// (P > 2).  Scratch: a vector.
#include "algorithms/catalog.hpp"
#include "algorithms/circulant.hpp"

namespace stretto::algorithms {

static void append(Ops &ops, Position position, Position ranks) {
    constexpr schedule::Slot kShifted = 1;
    const Rounds rounds = doubling_rounds(ranks);
    const Blocks all = consecutive(0, ranks);
    ops.push_back(schedule::copy(all, kWork, kShifted));
    append_circulant_reduce_scatter(ops, position, ranks, rounds, kShifted);
    append_circulant_allgather(ops, position, ranks, rounds, kShifted, 1);
    ops.push_back(schedule::copy(all, kShifted, kWork));
}

Algorithm allreduce::bruck() {
    return {.name = "bruck",
            .collective = Collective::allreduce,
            .summary = "Bruck's allgather after its reverse, with the two shifts of the vector",
            .source = "Bruck & Ho 1993",
            .parameters = {},
            .runs = always,
            .order_preserving = up_to<2>,
            .consistent = always,
            .canonical = up_to<2>,
            .make = [](const Problem &problem) {
                return alike_by_owner(assemble(
                    Collective::allreduce, problem, Partition::even(problem.ranks),
                    Group::cyclic(problem.ranks),
                    [ranks = problem.ranks](Ops &ops, Position p) { append(ops, p, ranks); }));
            }};
}

} // namespace stretto::algorithms
