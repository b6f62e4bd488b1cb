// SPDX-License-Identifier: BSD-3-Clause
// Direct alltoall: each rank sends its block to each other rank, all at once or one partner at a
// time.
//
// Source: linear exchange; pairwise exchange (Thakur, Rabenseifner & Gropp 2005).
//
//   block b   of position p begins as what p has for b and ends as what b had for p
//
//   3 ranks:   0 sends block 1 to 1, 2 to 2;  receives from 2, 1 and puts them into blocks 2, 1
//              1, 2 alike
//
// A block of the result lies where the contribution to its sender lay.  Received right there, two
// positions that exchange would each wait for the other to take its block first; so blocks are
// received into scratch and copied when their place is free.  An engine with cells copies nothing
// twice, as it takes the block right from the cell.
//
// `pairwise` has one send and one receive open at a time: in round i p sends to p + i and receives
// from p - i.  No position receives from two senders at once.
//
// Steps     1; pairwise P - 1
// Messages  P (P - 1); everybody sends and receives (P - 1) / P m bytes, the least possible
// Good in shared memory; over a network for long blocks, there pairwise.  No restrictions.
// Scratch: P - 1 blocks.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

static Schedule make(const Problem &problem) {
    return alike(
        assemble(Collective::alltoall, problem, Partition::equal(problem.ranks),
                 Group::cyclic(problem.ranks), [ranks = problem.ranks](Ops &ops, Position p) {
                     constexpr schedule::Slot kScratch = 1;
                     for (Position i = 1; i < ranks; ++i) {
                         const Position to = shifted(p, i, ranks);
                         ops.push_back(schedule::send(to, {to}));
                     }
                     for (Position i = 1; i < ranks; ++i) {
                         const Position from = shifted(p, -i, ranks);
                         ops.push_back(schedule::recv(from, {from}, kScratch));
                     }
                     for (Position i = 1; i < ranks; ++i)
                         ops.push_back(schedule::copy({shifted(p, -i, ranks)}, kScratch, kWork));
                 }));
}

Algorithm alltoall::direct() {
    return {.name = "direct",
            .collective = Collective::alltoall,
            .summary = "each rank sends its block to each other rank",
            .source = "linear exchange",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = make};
}

Algorithm alltoall::pairwise() {
    Algorithm algorithm = direct();
    algorithm.name = "pairwise";
    algorithm.summary = "direct, with one partner at a time";
    algorithm.source = "Thakur, Rabenseifner & Gropp 2005";
    algorithm.make = [](const Problem &problem) {
        Schedule made = make(problem);
        made.program = [all_at_once = std::move(made.program)](Position position) {
            schedule::Program program = all_at_once(position);
            program.open = {.recv = 1, .send = 1};
            return program;
        };
        return made;
    };
    return algorithm;
}

} // namespace stretto::algorithms
