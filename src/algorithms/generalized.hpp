// SPDX-License-Identifier: BSD-3-Clause
// The generalized allreduce: any number of positions, any abelian group on them, any number of
// steps from ceil(log2 P) to 2 (P - 1).
//
// Source: Kolmakov & Zhang, "A generalization of the allreduce operation", 2020; where its
// equations do not hold, this follows docs/papers/kolmakov-zhang.md.
//
//   cell x of position p   block p + x (in the group): so cell 0 is the block that p owns
//   descent (N, M)         a step of the reduction: a position holds sums of cells 0 ... N - 1 and
//                          moves those from M on, s = N - M cells, to the position s further on,
//                          where they are cells M - s ... M - 1.  N is at most 2 M.
//
// P is divided by descents until 1 cell is left, which is the result.  In reverse order they
// distribute it.  Halved, P is left after ceil(log2 P) descents; in steps of one cell it is a ring.
//
//   7 positions, what 0 does    7 -> 4    cells 4 5 6 to 3,  cells 1 2 3 from 4
//                               4 -> 2    cells 2 3 to 2,    cells 0 1 from 5
//                               2 -> 1    cell 1 to 1,       cell 0 from 6
//
// A group of several factors descends in its last one first, with all values of the digits before.
//
// Leaving out the first r steps of the distribution saves r steps: position p then has to have the
// results of `kept` cells 0 ... M - 1, M the size before the r last descents, at the end of the
// reduction.  A result of cell v is the sum of P positions that begins v further on, so each moves
// and adds M - 1 cells more in every descent ("interior" cells, up to N + M - 2), and two sums of
// the same cell have to be told apart where an odd N was divided: the one that is complete in the
// end ("star", in the paper q*) left out its own cell then, and the one that goes on to others
// ("interior", q').
//
// Slots.  With r = 0 no cell is sent that is received into, so all is done in `work`.  Else a
// descent must not overwrite what it sends: it adds from the slot that is being sent into another.
// The stars stay behind, in the slot where they stood when they parted from the interiors.  Where a
// cell is added to both, it is received into scratch first.
//
// Digits of a factor whose M is its order (a "whole" factor) mean nothing, as all its cells are
// treated alike; so they share a block, and with r at its most there is one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "algorithms/assemble.hpp"
#include "schedule/symmetry.hpp"

namespace stretto::algorithms {

struct Descent {
    std::size_t factor;
    Position from, to; // cells

    Position moved() const { return from - to; }
    bool even() const { return moved() == to; } // cell 0 is added to
};

// An edge of a tree; the parent is nearer to the root.
struct Hop {
    Position parent, child;
};

class Generalized {
public:
    // At most `width` cells move in one descent; 0: no limit.  With skipped > 0 it must be 0.
    Generalized(Group group, Position skipped, Position width = 0);

    // Descents in the order of the reduction.
    const std::vector<Descent> &descents() const { return descents_; }
    Position kept(std::size_t factor) const { return kept_[factor]; } // M
    bool whole(std::size_t factor) const { return kept_[factor] == group_.order(factor); }
    const Group &group() const { return group_; }

    // Blocks of the vector are numbered by the digits of the factors that are not whole.
    Block blocks() const { return static_cast<Block>(block_of_.size()); }
    // Block of cell x at position 0, by number: a permutation (the paper's h, inverted).  By
    // default digits count backwards, so that a message is as few pieces of memory as possible.
    void place(std::vector<Block> block_of) { block_of_ = std::move(block_of); }
    // Position p owns block p, as the contracts of collectives in parts say.
    void place_by_owner();

    // The number of a block as seen from a position: that of its cell there.
    Relative relative() const;

    void append_reduction(Ops &ops, Position position, Lane lane = 0) const;
    void append_distribution(Ops &ops, Position position, Lane lane = 0) const;
    // The part of the distribution that moves the block of the root: the hops of one position, from
    // the root to the leaves.
    std::vector<Hop> hops(Position position, Position root) const;

private:
    // The cells first ... first + size - 1 of a factor, with all values of the digits before it and
    // the kept values of the digits after it.
    Blocks cells(Position position, std::size_t factor, Position first, Position size) const;
    void append_in_agreed_order(Ops &ops, Position position, std::size_t factor, bool final,
                                schedule::Slot &held, Lane lane) const;

    Group group_;
    std::vector<Descent> descents_;
    std::vector<Position> kept_;
    std::size_t skipped_;
    std::vector<Block> block_of_;
};

// The parameters of the algorithms that are made of this.
extern const Parameter kGroup, kSkipped, kWidth;
// The group that the parameters give, or why they do not fit ("" if they do).
Generalized generalized(const Problem &problem);
std::string generalized_misfit(const Problem &problem);

} // namespace stretto::algorithms
