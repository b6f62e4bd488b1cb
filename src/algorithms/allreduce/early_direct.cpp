// SPDX-License-Identifier: BSD-3-Clause
// Early direct: direct.cpp in which only early positions own blocks.  An owner adds up
// contributions in the order of their arrival and sends the result to everybody.
//
// Source: this library, over direct (direct.cpp).
//
// Positions are sorted by arrival: the first O own blocks.
//
//   block s O + o   segment s of what position o owns
//
//   4 ranks, 2 owners:   all send block 0 to 0, block 1 to 1, then blocks 2 and 3 alike
//                        0 and 1 send the sum of a block to all as soon as all have come for it
//
// Each position begins with a different owner, so that positions that arrive together do not send
// to the same one.  Results of a segment are under way while owners still wait for the next one.
//
// Steps     2
// Messages  2 O S (P - 1) of m / (O S) bytes.  From the last arrival on a late position sends m and
//           receives m; with k of them an owner receives 1 + (k - 1) / O vectors and sends
//           (P - 1) / O.  About m / S bytes and S (P - 1) messages' latency come to that, so
//           S = sqrt(beta m / ((P - 1) alpha)) is the best
// Good for long vectors if few of many positions arrive late, in any order.  Commutative operations
// only.  All ranks have the same bits, but the next call may have others.  No scratch.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/assemble.hpp"
#include "algorithms/catalog.hpp"
#include "algorithms/lateness.hpp"

namespace stretto::algorithms {

namespace {

constexpr Lane kOwn = 0, kResults = 1;

// The owners, beginning with the next one after the position.
Blocks owners_from(Position position, Position owners) {
    Blocks found;
    for (Position step = 0; step < owners; ++step)
        if (const Position owner = (position + 1 + step) % owners; owner != position)
            found.push_back(owner);
    return found;
}

// The positions that send to an owner, in the order of their turns.
Blocks senders_to(Position owner, Position ranks, Position owners) {
    Blocks found;
    for (Position step = 0; step < owners; ++step)
        for (Position p = 0; p < ranks; ++p)
            if (p != owner && (p + 1 + step) % owners == owner)
                found.push_back(p);
    std::stable_partition(found.begin(), found.end(), [owners](Position p) { return p < owners; });
    return found;
}

void append(Ops &ops, Position position, Position ranks, Position owners, Block segments) {
    const Blocks others = owners_from(position, owners);
    const bool owns = position < owners;
    const Blocks senders = owns ? senders_to(position, ranks, owners) : Blocks();
    for (Block s = 0; s < segments; ++s) {
        const Block first = s * owners;
        for (const Position owner : others)
            ops.push_back(schedule::send(owner, {first + owner}, kWork, kOwn));
        for (const Position sender : senders) {
            ops.push_back(schedule::recv_reduce(sender, {first + position},
                                                side_of(sender, position), kWork, kWork, kOwn));
            if (senders.size() > 1)
                ops.back().group = s + 1;
        }
    }
    for (Block s = 0; s < segments; ++s) {
        const Block first = s * owners;
        for (Position step = 1; owns && step < ranks; ++step)
            ops.push_back(schedule::send(shifted(position, step, ranks), {first + position}, kWork,
                                         kResults));
        for (auto owner = others.rbegin(); owner != others.rend(); ++owner)
            ops.push_back(schedule::recv(*owner, {first + *owner}, kWork, kResults));
    }
}

constexpr Parameter kOwners = {.name = "owners",
                               .fallback = 4096,
                               .least = 1,
                               .most = 4096,
                               .meaning = "first positions that own blocks; by default all",
                               .most_at = [](Position ranks) { return std::int64_t{ranks}; }};
constexpr Parameter kSegments = {.name = "segments",
                                 .fallback = 2,
                                 .least = 1,
                                 .most = 1024,
                                 .meaning = "blocks of each owner, which follow one another"};

std::vector<Values> for_arrivals(const Lateness &expected) {
    const std::int64_t owners =
        std::max(expected.ranks() - expected.late(), (expected.ranks() + 1) / 2);
    return {{{"owners", {owners}}, {"segments", {expected.pieces(1.0 / (expected.ranks() - 1))}}}};
}

} // namespace

Algorithm allreduce::early_direct() {
    return {
        .name = "early_direct",
        .collective = Collective::allreduce,
        .summary =
            "early ranks own blocks, add contributions in order of arrival, send results to all",
        .source = "Stretto",
        .parameters = {kOwners, kSegments},
        .runs = always,
        .order_preserving = up_to<2>,
        .consistent = always,
        .canonical = up_to<2>,
        .make =
            [](const Problem &problem) {
                const auto owners = static_cast<Position>(parameter(problem, "owners"));
                const Block segments = parameter(problem, "segments");
                return assemble(Collective::allreduce, problem, Partition::even(owners * segments),
                                asymmetric,
                                [ranks = problem.ranks, owners, segments](Ops &ops, Position p) {
                                    append(ops, p, ranks, owners, segments);
                                });
            },
        .by_arrival = true,
        .sorted_by_arrival = true,
        .for_arrivals = for_arrivals};
}

} // namespace stretto::algorithms
