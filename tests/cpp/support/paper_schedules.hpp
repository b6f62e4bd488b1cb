// SPDX-License-Identifier: BSD-3-Clause
// Schedules whose times are published, for tests of the simulator.  Positions are ranks sorted by
// arrival.
#pragma once

#include <vector>

#include "support/schedules.hpp"

namespace stretto::test {

// Segmented linear tree with the results back down the chain.
//
// Reduction 0 -> 1 -> ... -> P-1 as in the library's chain, where the results go around again
// (P-1 -> 0 -> 1 ...); here P-1 -> P-2 -> ... -> 0.
inline Schedule chain_and_back(Position ranks, Block segments) {
    auto programs = empty_programs(ranks);
    const Position last = ranks - 1;
    for (Position p = 0; p < ranks && ranks > 1; ++p) {
        std::vector<Op> &ops = ops_of(programs, p);
        for (Block s = 0; s < segments; ++s) {
            if (p > 0)
                ops.push_back(recv_reduce(p - 1, {s}, Side::left));
            ops.push_back(p < last ? send(p + 1, {s}) : send(p - 1, {s}, kWork, 1));
        }
        for (Block s = 0; s < segments && p < last; ++s) {
            ops.push_back(recv(p + 1, {s}, kWork, 1));
            if (p > 0)
                ops.push_back(send(p - 1, {s}, kWork, 1));
        }
    }
    return assemble("chain_and_back", {Collective::allreduce, ranks, segments},
                    std::move(programs));
}

// Generalized allreduce over the cyclic group, bandwidth-optimal (r = 0): Kolmakov & Zhang 2020.
//
// Slot x of position p holds block p - x (mod P).  N = P slots are left, then half of them, ...:
// each position sends the upper half to the one floor(N/2) below; then the way back.
//
//   P = 7:  N = 7, 4, 2: sends slots 4 5 6 down by 3, then 2 3 by 2, then 1 by 1;
//           then slot 0 up by 1, slots 0 1 up by 2, slots 1 2 3 up by 3
inline Schedule generalized_cyclic(Position ranks) {
    std::vector<Position> halvings;
    for (Position left = ranks; left > 1; left = (left + 1) / 2)
        halvings.push_back(left);
    const auto wrap = [&](Position x) { return (x % ranks + ranks) % ranks; };
    const auto slots = [&](Position p, Position from, Position to) {
        std::vector<Block> blocks;
        for (Position x = from; x < to; ++x)
            blocks.push_back(wrap(p - x));
        return blocks;
    };
    auto programs = empty_programs(ranks);
    for (Position p = 0; p < ranks; ++p) {
        std::vector<Op> &ops = ops_of(programs, p);
        for (const Position left : halvings) {
            const Position lower = left / 2, upper = left - lower;
            ops.push_back(send(wrap(p - lower), slots(p, upper, left)));
            ops.push_back(
                recv_reduce(wrap(p + lower), slots(p, upper - lower, left - lower), Side::right));
        }
        for (auto left = halvings.rbegin(); left != halvings.rend(); ++left) {
            const Position lower = *left / 2, upper = *left - lower;
            ops.push_back(send(wrap(p + lower), slots(p, upper - lower, upper), kWork, 1));
            ops.push_back(recv(wrap(p - lower), slots(p, upper, *left), kWork, 1));
        }
    }
    return assemble("generalized_cyclic", {Collective::allreduce, ranks, ranks},
                    std::move(programs));
}

} // namespace stretto::test
