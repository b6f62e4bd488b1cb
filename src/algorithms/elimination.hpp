// SPDX-License-Identifier: BSD-3-Clause
// 3-2 elimination: how P = 2^k + surplus positions become a cube of 2^k members when a surplus
// position joins a pair for its exchange along dimension 0.
//
// Source: Rabenseifner & Träff, "More efficient reduction algorithms for non-power-of-two number of
// processors in message-passing parallel systems", EuroPVM/MPI 2004.
//
// Positions stand in 2^(k-1) groups of neighbours, each with two members of the cube:
//
//   pair      two positions, both members
//   triple    three positions a b c, of which b and c are members and a is eliminated
//   quad      four positions, two members with one folded into each: where surplus > 2^(k-1) there
//             are too few pairs to take all the surplus
//
// Wide groups (all pairs or all quads) come first:
//
//   5 positions:  pair 0 1, triple 2 3 4       7 positions:  quad 0<-1 2<-3, triple 4 5 6
#pragma once

#include "algorithms/cube.hpp"

namespace stretto::algorithms {

struct Groups {
    explicit Groups(Position ranks);

    struct Seat {
        Position group, first; // the group and its first position
        Position place, width; // the place in the group and its size: 2, 3 or 4

        bool in_triple() const { return width == 3; }
        bool folds() const { return width == 4; }
        // Takes part in the cube.
        bool member() const { return in_triple() ? place > 0 : !folds() || place % 2 == 0; }
        // The number in the cube; meaningful for members.
        Position number() const {
            return 2 * group + (in_triple() ? place - 1 : place * 2 / width);
        }
    };
    Seat seat(Position position) const;
    std::vector<Position> members() const;

    Position power, surplus;
    Position width; // of a wide group
    Position wide;  // how many of them
};

// A triple does this in place of dimension 0 of halving; L and U are the lower and the upper half
// of the chunks:
//
//   a <-> b   a receives U and has a b;  b receives L and has a b
//   c -> b    L, so b has (a b) c of the lower half
//   a -> c    U, so c has (a b) c of the upper half, and a is done
//
// two rounds of half a vector.
void append_elimination(Ops &ops, const Cube &cube, const Groups::Seat &seat, Lane lane = 0);

// And this, the mirror image, in place of dimension 0 of doubling.
//
//   c -> a    U
//   b -> c    L, so c has all
//   a <-> b   U for L, so both have all
void append_restoration(Ops &ops, const Cube &cube, const Groups::Seat &seat, Lane lane = 0);

} // namespace stretto::algorithms
