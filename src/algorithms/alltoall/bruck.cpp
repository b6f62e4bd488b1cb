// SPDX-License-Identifier: BSD-3-Clause
// Bruck's alltoall: blocks travel by the binary digits of their way, many of them in one message.
//
// Source: Bruck, Ho, Kipnis, Upfal & Weathersby, "Efficient algorithms for all-to-all
// communications in multiport message-passing systems", TPDS 1997.
//
//   place j   of slot 1 holds what has j positions to go: at first p's block for p + j
//   step      for each power of two s < P: the places whose number has the digit s go to p + s
//   in the end place j holds what p - j had for p
//
//   5 ranks:   shift: place j = block p + j;  places 1 3 to p + 1;  2 3 to p + 2;  4 to p + 4;
//              shift: block p - j = place j
//
// What arrives is put aside (slot 2) until the places have been sent.
//
// Steps     ceil(log2 P); one less for 2^k < P <= 3/2 2^k, where the last message holds nothing of
//           the one before
// Messages  ceil(log2 P) sent by each
// Bytes     about m / 2 in each of them, where direct sends (P - 1) / P m in all; everything is
//           copied twice, and what has arrived once
// Good for small blocks over a network.  No restrictions.  Scratch: a vector and a half.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

using schedule::Slot;

// The blocks at places 1 ... P - 1 of a position; `direction` 1: at the beginning, -1: at the end.
static Blocks blocks_at_places(Position position, Position direction, Position ranks) {
    Blocks blocks;
    for (Position j = 1; j < ranks; ++j)
        blocks.push_back(shifted(position, direction * j, ranks));
    return blocks;
}

static Op relabelled(Blocks blocks, Slot from, Slot into, Blocks targets) {
    Op op = schedule::copy(std::move(blocks), from, into);
    op.targets = std::move(targets);
    return op;
}

static void append(Ops &ops, Position position, Position ranks) {
    constexpr Slot kPlaces = 1, kArrived = 2;
    const Blocks places = consecutive(1, ranks - 1);
    ops.push_back(relabelled(blocks_at_places(position, 1, ranks), kWork, kPlaces, places));
    for (Position step = 1; step < ranks; step *= 2) {
        Blocks going;
        for (const Block place : places)
            if ((place & step) != 0)
                going.push_back(place);
        ops.push_back(schedule::send(shifted(position, step, ranks), going, kPlaces));
        ops.push_back(schedule::recv(shifted(position, -step, ranks), going, kArrived));
        ops.push_back(schedule::copy(std::move(going), kArrived, kPlaces));
    }
    ops.push_back(relabelled(places, kPlaces, kWork, blocks_at_places(position, -1, ranks)));
}

Algorithm alltoall::bruck() {
    return {.name = "bruck",
            .collective = Collective::alltoall,
            .summary = "blocks travel by the binary digits of their way, many in one message",
            .source = "Bruck et al. 1997",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = [](const Problem &problem) {
                return alike(assemble(
                    Collective::alltoall, problem, Partition::equal(problem.ranks),
                    Group::cyclic(problem.ranks),
                    [ranks = problem.ranks](Ops &ops, Position p) { append(ops, p, ranks); }));
            }};
}

} // namespace stretto::algorithms
