// SPDX-License-Identifier: BSD-3-Clause
// The streams by which positions hand pieces to others, as the engine lays them out.
//
// What a position sends lies in its ring until all readers have taken it, so it gets at most a ring
// ahead of its slowest reader (engine/stream.hpp):
//
//   cell     the place of a piece in the stream.  A piece for several readers has one cell.  If a
//            position only passes on what it receives, it takes it when its own cell has room
//   place    fixed when the plan is made, as if all positions came at once.  A result that waits
//            for a late rank keeps its place, and what lies a ring further on waits as well
//   taken    a position reports its progress as one number, so a piece counts as taken when its
//            reader has done everything up to it in the reader's own sequence
//   done     a piece is sent once it lies in the ring: its position need not wait until it has left
//
//   chain 0 -> 1 -> 2, a ring of 8 segments, 2 is late:   1 has sent 0 ... 7, of which none is
//   taken; 0 has sent 0 ... 15, of which 1 has taken 0 ... 7
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/inline_vector.hpp"
#include "cost/pieces.hpp"

namespace stretto::cost {

using CellId = std::uint32_t;

struct Streams {
    struct Cell {
        std::uint32_t position = 0;
        double bytes = 0;
        double end = 0;                       // of the cell in the stream, in bytes
        InlineVector<TaskId, 2> readers = {}; // receives
    };
    std::vector<Cell> cells;
    std::vector<CellId> cell_of;               // by task: what it publishes; kNone: nothing
    std::vector<std::vector<CellId>> stream;   // by position, first to last
    std::vector<std::vector<TaskId>> sequence; // by position: its tasks, first to last
    std::vector<std::uint32_t> turn;           // by task: its place in that sequence
    double ring = std::numeric_limits<double>::infinity(); // bytes

    // No position ever waits for room.
    bool empty() const { return cells.empty(); }
};

// Plays all positions in rounds, as the engine does when it orders the passes of a plan
// (engine/order.hpp).  Empty, but for the ring, if no position sends more than a ring.
Streams streams_of(const Pieces &pieces, double ring);

} // namespace stretto::cost
