// SPDX-License-Identifier: BSD-3-Clause
// Late last: direct.cpp among the early positions, which alone own blocks; they fold in the
// contributions of late positions as those arrive.
//
// Source: this library, over direct (direct.cpp).
//
// Positions are sorted by arrival: the first E = P - late are early.
//
//   block s E + o   segment s of what position o owns
//
//   4 ranks, one late:   0, 1, 2 send each other their blocks; each folds its own of 0 1 2
//                        3 sends block 0 to 0, 1 to 1, 2 to 2; each folds what it has and that
//                        0, 1, 2 send the result to everybody
//
// Two folds, and not one of P operands: the second moves three streams of memory where direct moves
// P + 1.  When the last position arrives, only this fold and the reading of the results are left.
//
// Steps     3
// Messages  2 (P - 1) E S of m / (E S) bytes; a late position sends m and receives m
// Good in shared memory if the last position is known before it arrives: the others have to be in
// the call for as long as direct takes.  Early ones move m more over memory, early.
// Scratch: E - 1 or `late` blocks, which an engine that reads the peers' memory does not need.
#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/assemble.hpp"
#include "algorithms/catalog.hpp"
#include "algorithms/lateness.hpp"

namespace stretto::algorithms {

namespace {

using schedule::Slot;

constexpr Lane kOwn = 0, kResults = 1;

// The ops of one position.
class Folds {
public:
    Folds(Ops &ops, Position position, Position ranks, Position late)
        : ops_(ops), position_(position), ranks_(ranks), early_(ranks - late) {}

    bool owns() const { return position_ < early_; }

    // Contributions, to the next owner first.
    void append_sends(Block first) {
        for (Position step = 1; step <= early_; ++step)
            if (const Position owner = (position_ + step) % early_; owner != position_)
                ops_.push_back(schedule::send(owner, {first + owner}, kWork, kOwn));
    }

    // Folds contributions of `from` ... `to` - 1 into the own block, after the present value or
    // around it.
    void append_fold(Block first, Position from, Position to) {
        const Block own = first + position_;
        std::vector<Slot> sources;
        if (position_ < from)
            sources.push_back(kWork);
        for (Position p = from; p < to; ++p) {
            sources.push_back(slot_of(p));
            if (p != position_)
                ops_.push_back(schedule::recv(p, {own}, slot_of(p), kOwn));
        }
        if (sources.size() > 1)
            ops_.push_back(schedule::reduce(std::move(sources), {own}));
    }
    void append_early_fold(Block first) { append_fold(first, 0, early_); }
    void append_late_fold(Block first) { append_fold(first, early_, ranks_); }

    void append_results(Block first) {
        for (Position step = 1; owns() && step < ranks_; ++step)
            ops_.push_back(schedule::send(shifted(position_, step, ranks_), {first + position_},
                                          kWork, kResults));
        for (Position step = 1; step <= early_; ++step)
            if (const Position owner = (position_ + early_ - step) % early_; owner != position_)
                ops_.push_back(schedule::recv(owner, {first + owner}, kWork, kResults));
    }

private:
    Slot slot_of(Position p) const { return p == position_ ? kWork : p < position_ ? p + 1 : p; }

    Ops &ops_;
    Position position_, ranks_, early_;
};

void append(Ops &ops, Position position, Position ranks, Position late, Block segments) {
    Folds folds(ops, position, ranks, late);
    const Position early = ranks - late;
    for (Block s = 0; s < segments; ++s) {
        folds.append_sends(s * early);
        if (folds.owns())
            folds.append_early_fold(s * early);
    }
    for (Block s = 0; s < segments; ++s) {
        if (folds.owns())
            folds.append_late_fold(s * early);
        folds.append_results(s * early);
    }
}

constexpr Parameter kSegments = {.name = "segments",
                                 .fallback = 1,
                                 .least = 1,
                                 .most = 1024,
                                 .meaning = "blocks of each owner, which follow one another"};

} // namespace

Algorithm allreduce::late_last() {
    return {.name = "late_last",
            .collective = Collective::allreduce,
            .summary =
                "early ranks reduce block by block, then add the contributions of late ranks",
            .source = "Stretto",
            .parameters = {kLate, kSegments},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = up_to<3>,
            .make =
                [](const Problem &problem) {
                    const auto late = static_cast<Position>(parameter(problem, "late"));
                    const Block segments = parameter(problem, "segments");
                    // One rank has nothing to do, and no rank is late.
                    const Position early = std::max<Position>(problem.ranks - late, 1);
                    return assemble(Collective::allreduce, problem,
                                    Partition::even(early * segments), asymmetric,
                                    [ranks = problem.ranks, late, segments](Ops &ops, Position p) {
                                        append(ops, p, ranks, late, segments);
                                    });
                },
            .sorted_by_arrival = true};
}

} // namespace stretto::algorithms
