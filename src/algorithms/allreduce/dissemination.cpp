// SPDX-License-Identifier: BSD-3-Clause
// Dissemination: the positions whose contributions a position knows double with every step, for any
// number of ranks.
//
// Source: Hensgen, Finkel & Manber, "Two algorithms for barrier synchronization", 1988; with every
// position counted once for any P: Bar-Noy, Kipnis & Schieber, "An optimal algorithm for computing
// census functions in message-passing systems", Parallel Processing Letters 1993.
//
//   behind    the sum over the n positions before p, without p (slot 2)
//   with      the same and p itself (slot 0, `work`): n + 1 positions
//   step      p receives the sum over the positions before those it knows of: `with` of p - n - 1,
//             which makes n into 2 n + 1, or `behind` of p - n, which makes it 2 n
//
// The binary digits of P - 1, highest first, say which: n = 0, 1, ..., P - 1.
//
//   6 ranks, P - 1 = 101b     1: with of p - 1       0: behind of p - 1       1: with of p - 3
//   0                         5                      4                        3 2 1
//   1                         0                      5                        4 3 2
//
// Steps     ceil(log2 P), the least possible, for every P
// Messages  ceil(log2 P) of m bytes sent by each
// Good for small vectors over a network where P is no power of two, and as a barrier.  Every
// position brackets the sum in its own way: not the same bits on all ranks (P > 2), so auto never
// chooses it.  Commutative operations only (P > 2).  Scratch: a vector, two unless P = 2^k.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

using schedule::Slot;

static void append(Ops &ops, Position position, Position ranks) {
    constexpr Slot kWith = kWork, kHeard = 1, kBehind = 2;
    const auto digits = static_cast<std::uint32_t>(ranks - 1);
    Position known = 0; // n
    for (int bit = log2_ceil(ranks) - 1; bit >= 0; --bit) {
        const bool with = (digits >> bit & 1) != 0;
        const Position skip = known + (with ? 1 : 0);
        const Position source = shifted(position, -skip, ranks);
        const auto join = [&](Slot known_sum) {
            const bool left = side_of(source, position) == Side::left;
            ops.push_back(left ? schedule::reduce({kHeard, known_sum}, {0}, known_sum)
                               : schedule::reduce({known_sum, kHeard}, {0}, known_sum));
        };
        ops.push_back(schedule::send(shifted(position, skip, ranks), {0}, with ? kWith : kBehind));
        ops.push_back(schedule::recv(source, {0}, kHeard));
        // `behind` is computed as long as a later step sends it.
        const std::uint32_t to_come = (1u << bit) - 1;
        if ((digits & to_come) != to_come) {
            if (known == 0)
                ops.push_back(schedule::copy({0}, kHeard, kBehind));
            else
                join(kBehind);
        }
        join(kWith);
        known += skip;
    }
}

Algorithm allreduce::dissemination() {
    return {
        .name = "dissemination",
        .collective = Collective::allreduce,
        .summary =
            "the number of known contributions doubles with every step, for any number of ranks",
        .source = "Hensgen et al. 1988; Bar-Noy et al. 1993",
        .parameters = {},
        .runs = always,
        .order_preserving = up_to<2>,
        .consistent = up_to<2>,
        .canonical = up_to<2>,
        .make = [](const Problem &problem) {
            return alike_by_owner(assemble(
                Collective::allreduce, problem, Partition::even(1), Group::cyclic(problem.ranks),
                [ranks = problem.ranks](Ops &ops, Position p) { append(ops, p, ranks); }));
        }};
}

} // namespace stretto::algorithms
