// SPDX-License-Identifier: BSD-3-Clause
// The broadcast of n blocks along a circulant graph, in the least number of rounds that there can
// be: n - 1 + ceil(log2 P), for any P.  In each round a rank sends at most one block and receives
// at most one.
//
// Source: Träff, "Optimal broadcast schedules in logarithmic time with applications to broadcast,
// all-broadcast, reduction and all-reduction", arXiv 2312.11236.  The required properties are
// tested.
//
//   q          ceil(log2 P)
//   skips      P halved, rounding up, until 1 is left; in ascending order s[0] ... s[q] = P
//   round i    with k = i mod q: rank r receives from r - s[k] and sends to r + s[k]
//   base       the least of the skips that add up to r, taken from the largest on: its number is
//              that of the block that reaches r first; q for the root, 0
//   table      of r: the block for each k that r receives in the first q rounds, and in every q
//              rounds that follow q more.  Less than 0: nothing.  Numbers are -1 ... -q, but the
//              base in place of base - q
//
//   9 ranks, skips 1 2 3 5:   k      0  1  2  3
//                        rank 1      0 -2 -3 -1      base 0
//                        rank 5     -4 -2 -3  3      base 3
//                        rank 0     -2 -3 -1 -4      the root
//
// Of the first q rounds so many are left out that block n - 1 leaves the root in one with k = 0. In
// place of a block after n - 1, ranks that lack block n - 1 receive it.
//
// Backwards in time and direction it is a reduction to the root.
#pragma once

#include <vector>

#include "algorithms/assemble.hpp"

namespace stretto::algorithms {

class BlockRounds {
public:
    // A single rank sends itself every block, by a skip of 1; a root with two bodies needs that
    // (late_rooted.cpp).
    BlockRounds(Position ranks, Block blocks);

    // One round more than a broadcast takes: after it the root, too, would have received all
    // blocks.
    Block rounds() const { return blocks_ + steps(); }
    Position skip(Block round) const { return skips_[phase(round)]; }
    const std::vector<Position> &skips() const { return skips_; } // q + 1 of them

    // The block that a rank would receive in round k if blocks had neither a first nor a last.
    std::vector<Block> table(Position rank) const;
    // For each round, the block that the rank receives or sends, or none.  A broadcast leaves out
    // the blocks that the root receives, and so the last round.
    std::vector<Block> received(Position rank) const;
    std::vector<Block> sent(Position rank) const;

    static constexpr Block kNone = -1;

private:
    Block steps() const { return static_cast<Block>(skips_.size()) - 1; } // q
    Block first() const { return (steps() - (blocks_ - 1) % steps()) % steps(); }
    std::size_t phase(Block round) const {
        return static_cast<std::size_t>((first() + round) % steps());
    }

    Position ranks_;
    Block blocks_;
    std::vector<Position> skips_;
};

} // namespace stretto::algorithms
