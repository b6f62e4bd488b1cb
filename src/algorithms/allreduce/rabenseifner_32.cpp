// SPDX-License-Identifier: BSD-3-Clause
// Rabenseifner's algorithm with 3-2 elimination: a surplus position joins a pair for its first
// exchange of halves, which costs a member half a vector more where folding costs a whole one.
//
// Source: Rabenseifner & Träff, "More efficient reduction algorithms for non-power-of-two number of
// processors in message-passing parallel systems", EuroPVM/MPI 2004.
//
//   member   a position that takes part in all exchanges (elimination.hpp)
//   L, U     the lower and the upper half of the 2^k chunks
//
//   5 ranks:  pair 0 1, triple 2 3 4 with members 3 and 4; ">" sends, "<" receives
//
//             dimension 0              dimension 1    dimension 1    dimension 0
//   0 (v0)    > 23, < 01               > 1, < 0       > 0, < 1       > 01, < 23
//   1 (v1)    > 01, < 23               > 3, < 2       > 2, < 3       > 23, < 01
//   2         > L to 3, < U of 3,                                    < U of 4, > U to 3,
//             > U to 4                                               < L of 3
//   3 (v2)    > U, < L, < L of 4       > 0, < 1       > 1, < 0       > L to 4, > L, < U
//   4 (v3)    > L to 3, < U of 2       > 2, < 3       > 3, < 2       > U to 2, < L of 3
//
// Steps     2 k with k = floor(log2 P), 2 more if P is not a power of two
// Messages  2^k 2 k, 4 more for a triple, 2 more for a folded position
// Bytes     a member of a triple sends at most 2 (1 - 2^-k) m + m / 2
// Good over a network for 2^k < P <= 3/2 2^k, where no rank is folded.  Any P.  No scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/elimination.hpp"

namespace stretto::algorithms {

static void append(Ops &ops, Position position, Position ranks) {
    const Groups groups(ranks);
    const Groups::Seat seat = groups.seat(position);
    const Cube cube = cube_of(groups.members());
    const Blocks all = consecutive(0, groups.power);

    if (seat.folds() && !seat.member()) {
        ops.push_back(schedule::send(position - 1, all));
        ops.push_back(schedule::recv(position - 1, all));
        return;
    }
    if (seat.folds())
        ops.push_back(schedule::recv_reduce(position + 1, all, Side::right));
    if (seat.in_triple())
        append_elimination(ops, cube, seat);
    if (seat.member()) {
        const int first = seat.in_triple() ? 1 : 0;
        append_halving(ops, cube, seat.number(), first);
        append_doubling(ops, cube, seat.number(), first, 1);
    }
    if (seat.in_triple())
        append_restoration(ops, cube, seat, 1);
    if (seat.folds())
        ops.push_back(schedule::send(position + 1, all));
}

// A triple is canonical only as the last group, behind quads.
static bool canonical(Position ranks) {
    return power_of_two(ranks) || power_of_two(ranks + 1);
}

Algorithm allreduce::rabenseifner_32() {
    return {.name = "rabenseifner_32",
            .collective = Collective::allreduce,
            .summary = "as rabenseifner; surplus ranks are eliminated, three to two",
            .source = "Rabenseifner & Träff 2004",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = canonical,
            .make = [](const Problem &problem) {
                return allreduce_along_cube(problem, [ranks = problem.ranks](Ops &ops, Position p) {
                    append(ops, p, ranks);
                });
            }};
}

} // namespace stretto::algorithms
