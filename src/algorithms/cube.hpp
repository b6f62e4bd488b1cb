// SPDX-License-Identifier: BSD-3-Clause
// Hypercubes: 2^k members, numbered 0 ... 2^k - 1, that exchange along dimension i with the member
// whose number differs in bit i.
//
// Exchanges along dimensions 0, 1, 2, ... (distances 1, 2, 4, ...) keep operands in order: each
// joins the sums of two neighbouring ranges.  The vector is 2^k chunks; the exchange along
// dimension i halves the range of chunks that a member works on, bit i saying which half is its
// own:
//
//   k = 2       dimension 0        dimension 1
//   member 0    0 1 of 0 1 2 3     0 of 0 1
//   member 1    2 3                2 of 2 3
//   member 2    0 1                1 of 0 1
//   member 3    2 3                3 of 2 3
//
// so member v ends with the chunk whose number is v with its bits reversed.
#pragma once

#include <vector>

#include "algorithms/assemble.hpp"

namespace stretto::algorithms {

struct Cube {
    int dimensions = 0;
    std::vector<Position> members; // by number; ascending, so that members are in order
    std::vector<Blocks> chunks;

    Position member(Position number) const { return members[static_cast<std::size_t>(number)]; }

    // The blocks that member `number` works on after dimensions 0 ... level - 1, ascending.
    Blocks share(Position number, int level) const;
};

// Chunk c is block c.
Cube cube_of(std::vector<Position> members);

// `number` with its lowest `bits` bits reversed: 3 bits, 011 -> 110.
Position reversed(Position number, int bits);

// An allreduce with as many blocks as the largest cube has members.
Schedule allreduce_along_cube(const Problem &problem, Generator generate);

// The symmetry of cubes whose chunks are single blocks, and whose members are all positions or
// positions that are equal in their lowest bits.
Relative relative_in_cube(int dimensions);

// Vector halving: after dimensions first ... k - 1 member `number` holds its chunk reduced.  The
// share of level `first` must be reduced over the dimensions below.
void append_halving(Ops &ops, const Cube &cube, Position number, int first = 0, Lane lane = 0);
// The way back, dimensions k - 1 ... last: from its own chunk to the share of level `last`.
void append_doubling(Ops &ops, const Cube &cube, Position number, int last = 0, Lane lane = 0);

// Vector doubling along all dimensions: partners exchange sums of all of `blocks`, where
// append_halving exchanges halves.  In place, an exchange would overwrite blocks that are still
// being sent, so sums alternate between `work` and a scratch slot; they end in `work`.
void append_exchanges(Ops &ops, const Cube &cube, Position number, const Blocks &blocks,
                      Lane lane = 0);

// Folding: P = 2^k + surplus positions as a cube of 2^k.  The first 2 x surplus positions stand in
// pairs; the odd one sends its contribution to the even one, which takes part for both.
//
//   7 positions, surplus 3:   0<-1   2<-3   4<-5   6
//   number                    0      1      2      3
//
// (Barnett et al., "Global combine on mesh architectures with wormhole routing", IPPS 1993.)
struct Fold {
    explicit Fold(Position ranks);

    bool paired(Position position) const { return position < 2 * surplus; }
    bool folded(Position position) const { return paired(position) && position % 2 == 1; }
    Position number(Position position) const {
        return paired(position) ? position / 2 : position - surplus;
    }
    std::vector<Position> members() const;

    int dimensions;
    Position power, surplus;
};

// Folding gives the canonical tree where each half of it is a whole subcube or again such a tree:
// where the binary digits of P are ones followed by zeros (1, 2, 3, 4, 6, 7, 8, 12, 14, 15, ...).
//
//   6: ((01)(23))(45), canonical     5: ((01)2)(34), canonical is ((01)(23))4
bool folds_canonically(Position ranks);

} // namespace stretto::algorithms
