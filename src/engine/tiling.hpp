// SPDX-License-Identifier: BSD-3-Clause
// A long vector in tiles: a tile is a piece of every block.  Tiles look alike, each lies further on
// than the one before, so one plan serves all of them but the last, which takes what is left.  So
// neither the size of a plan nor the time to make it grows with the vector.
//
//   3 blocks, 3 tiles   | 1 1 2 2 3 3 | 1 1 2 2 3 3 | 1 1 2 2 3 3 3 |
//
// A rank plays tiles like successive calls, so the proof in order.hpp holds for tiles, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/blocks.hpp"
#include "schedule/schedule.hpp"

namespace stretto::engine {

// About the product of ops and blocks of a tile.
inline constexpr std::size_t kTileOpBlocks = 4096;

// Whether the blocks allow one position to stand for all.
bool one_for_all(const schedule::Schedule &schedule, const Blocks &blocks, std::size_t element);

// The work of lowering a slice of every block: ops times blocks, of all positions or of one that
// stands for all.
std::size_t work_of_layer(const schedule::Schedule &schedule, schedule::Position position,
                          bool alike);

struct Tiling {
    std::uint32_t count = 1; // with the last
    std::size_t stride = 0;  // bytes of a block in a tile, but in the last

    Piece each() const { return count == 1 ? Piece{} : Piece{0, stride}; }
    Piece last() const { return {(count - 1) * stride, Piece{}.length}; }
};

// The same at every position.  `slice`: bytes; `layers`: how many slices of every block are enough
// work for a tile, called only for vectors that are long enough to be cut.
Tiling tiling(const Blocks &blocks, std::size_t element, std::size_t slice,
              const std::function<std::size_t()> &layers);

} // namespace stretto::engine
