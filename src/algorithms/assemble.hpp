// SPDX-License-Identifier: BSD-3-Clause
// Helpers of all generators: they make a Schedule from the ops of one position, and do arithmetic
// on positions and blocks.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "algorithms/algorithm.hpp"

namespace stretto::algorithms {

using Group = schedule::Symmetry; // as papers call it
using schedule::kWork;
using schedule::Lane;
using schedule::Op;
using schedule::Partition;
using schedule::Side;

using Ops = std::vector<Op>;
using Blocks = std::vector<Block>;

// Appends the ops of one position.  Pure; never called for 1 rank, which has nothing to do.
using Generator = std::function<void(Ops &ops, Position position)>;

// The symmetry that makes all positions alike, if there is one and all have equal shares.
inline constexpr std::nullopt_t asymmetric = std::nullopt;
std::optional<Group> hypercube(Position ranks); // for a power of two; otherwise there is none

Schedule assemble(Collective collective, const Problem &problem, Partition partition,
                  std::optional<Group> symmetry, Generator generate);

// The dependencies of ops are the same at all positions, too: Schedule::alike.
Schedule alike(Schedule made, bool holds = true);
// Blocks are numbered as seen from a position: Schedule::relative.
using Relative = std::function<schedule::Block(Position, schedule::Block)>;
Schedule alike(Schedule made, Relative relative);
// Numbers are not needed: blocks are at the same places in the lists of all positions.
bool alike_by_place(const Schedule &made);
// A block's number is the distance of its owner from the position; or there is one block.
Schedule alike_by_owner(Schedule made, bool holds = true);

// As many blocks as positions, block b owned by position b, of the size that the problem gives it.
Partition by_owner(const Problem &problem);

// position + by around the circle, for -ranks <= by.
//
//   5 ranks:  shifted(4, 1) = 0,  shifted(0, -1) = 4,  shifted(1, -3) = 3
constexpr Position shifted(Position position, Position by, Position ranks) {
    return (position + by + ranks) % ranks;
}

// On which side to fold the contribution of `peer` so that operands stay in the order of positions.
constexpr Side side_of(Position peer, Position position) {
    return peer < position ? Side::left : Side::right;
}

// first, first + 1, ..., first + size - 1
Blocks consecutive(Block first, Block size);

// The value of a declared parameter, as a number of blocks.
Block parameter(const Problem &problem, const char *name);

//   ranks        1  2  3  4  5  6  7  8  9
//   log2_floor   0  1  1  2  2  2  2  3  3
//   log2_ceil    0  1  2  2  3  3  3  3  4
constexpr int log2_floor(Position ranks) {
    return static_cast<int>(std::bit_width(static_cast<std::uint32_t>(ranks))) - 1;
}
constexpr int log2_ceil(Position ranks) {
    return static_cast<int>(std::bit_width(static_cast<std::uint32_t>(ranks) - 1));
}
constexpr bool power_of_two(Position ranks) {
    return std::has_single_bit(static_cast<std::uint32_t>(ranks));
}

// Predicates for the properties of an Algorithm.
constexpr bool always(Position) {
    return true;
}
template<Position most>
constexpr bool up_to(Position ranks) {
    return ranks <= most;
}

} // namespace stretto::algorithms
