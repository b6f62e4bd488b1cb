// SPDX-License-Identifier: BSD-3-Clause
// Allgather for late ranks: no block of an early position travels through a late one.
//
// Source: this library's; ring as in allgather/ring.cpp, chain as in broadcast/chain.cpp.
//
// Positions are sorted by arrival: the first E = P - late are early.
//
//   ring      the early ones' blocks around a ring of the early ones
//   to late   each early one gives each late one its own block: it has it when it comes, if its
//             host takes it in
//   chains    a late one's block, in segments, along all early ones, each late one's beginning
//             with another of them
//   among     late ones each gives the others its own block
//
//   5 ranks, one late:   0 1 2 3 in a ring;  each gives its block to 4
//                        4's block: 4 -> 0 -> 1 -> 2 -> 3
//
// Time      after the last has come, one late: about (1 + (P - 2) / segments) beta m / P; a ring
//           takes (P - 1) / P beta m
// Messages  E (E - 1) + E late + late (late - 1) + late E segments
// Good where a few of many are late.  Each early one sends (P - 1 + late) / P of the vector: m / P
// more for each late one than it must.  No restrictions, no scratch.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/catalog.hpp"
#include "algorithms/lateness.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

namespace {

constexpr Lane kRing = 0, kToLate = 1, kAmong = 2, kChains = 3;

// The ops of one position.
class LateLast {
public:
    LateLast(Ops &ops, Position position, Position ranks, Position late, Block segments)
        : ops_(ops), position_(position), ranks_(ranks), early_(ranks - late), segments_(segments) {
    }

    void append() {
        if (position_ < early_) {
            append_ring();
            for (Position late = early_; late < ranks_; ++late)
                ops_.push_back(schedule::send(late, chunk(position_), kWork, kToLate));
            for (Position late = early_; late < ranks_; ++late)
                append_link(late);
            return;
        }
        for (Block k = 0; k < segments_; ++k)
            ops_.push_back(
                schedule::send(first(position_), {segment(position_, k)}, kWork, kChains));
        for (Position early = 0; early < early_; ++early)
            ops_.push_back(schedule::recv(early, chunk(early), kWork, kToLate));
        append_among();
    }

private:
    Blocks chunk(Position owner) const { return consecutive(owner * segments_, segments_); }
    Block segment(Position owner, Block k) const { return owner * segments_ + k; }
    // The ops of a late position's chain.
    Position first(Position late) const { return (late - early_) % early_; }

    void append_ring() {
        const Position next = shifted(position_, 1, early_),
                       previous = shifted(position_, -1, early_);
        for (Position s = 0; s < early_ - 1; ++s) {
            ops_.push_back(
                schedule::send(next, chunk(shifted(position_, -s, early_)), kWork, kRing));
            ops_.push_back(
                schedule::recv(previous, chunk(shifted(previous, -s, early_)), kWork, kRing));
        }
    }

    // This position's place in the chain of a late one.
    void append_link(Position late) {
        const Position next = shifted(position_, 1, early_);
        const Position before = position_ == first(late) ? late : shifted(position_, -1, early_);
        for (Block k = 0; k < segments_; ++k) {
            ops_.push_back(schedule::recv(before, {segment(late, k)}, kWork, kChains));
            if (next != first(late))
                ops_.push_back(schedule::send(next, {segment(late, k)}, kWork, kChains));
        }
    }

    void append_among() {
        for (Position late = early_; late < ranks_; ++late)
            if (late != position_)
                ops_.push_back(schedule::send(late, chunk(position_), kWork, kAmong));
        for (Position late = early_; late < ranks_; ++late)
            if (late != position_)
                ops_.push_back(schedule::recv(late, chunk(late), kWork, kAmong));
    }

    Ops &ops_;
    Position position_, ranks_, early_;
    Block segments_;
};

constexpr Parameter kSegments = {.name = "segments",
                                 .fallback = 8,
                                 .least = 1,
                                 .most = 4096,
                                 .meaning =
                                     "pieces of a late rank's block that follow one another"};

std::vector<Values> for_arrivals(const Lateness &expected) {
    const Position late = expected.late();
    // The ops of one block, along the early positions.
    const double steps = static_cast<double>(expected.ranks() - late) / expected.ranks();
    return {{{"late", {late}}, {"segments", {expected.pieces(steps)}}}};
}

} // namespace

Algorithm allgather::late_last() {
    return {.name = "late_last",
            .collective = Collective::allgather,
            .summary = "early ranks' blocks around a ring of their own, late ones' along a chain",
            .source = "ring and chain, of early ranks",
            .parameters = {kLate, kSegments},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    const auto late = static_cast<Position>(parameter(problem, "late"));
                    const Block segments = parameter(problem, "segments");
                    return assemble(Collective::allgather, problem,
                                    by_owner(problem).refine(segments), asymmetric,
                                    [ranks = problem.ranks, late, segments](Ops &ops, Position p) {
                                        LateLast(ops, p, ranks, late, segments).append();
                                    });
                },
            .unequal_shares = true,
            .sorted_by_arrival = true,
            .for_arrivals = for_arrivals};
}

} // namespace stretto::algorithms
