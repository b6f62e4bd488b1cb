// SPDX-License-Identifier: BSD-3-Clause
// Lowering: from the ops of a schedule to passes over memory, for all positions at once.
//
// In shared memory every op becomes one kind of step, the *pass*: read n operands (own memory, or
// cells that other ranks have published), reduce them, and write the result to own memory, to a
// cell of the own stream, or both.  Four rules make few passes of many ops:
//
//   multicast   sends of the same data to several peers become one published cell that all read;
//   forwarding  a receive into scratch that is read once is not copied: its reader takes the cell;
//   chaining    consecutive reducing receives into one place are one n-ary pass, from first to
//               last: those that come on the left where the operation commutes;
//   dual store  a result that is sent right after is stored to memory and to the cell at once.
//
// The contribution is never copied first: a block is read from the input until it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/inline_vector.hpp"
#include "engine/blocks.hpp"
#include "schedule/schedule.hpp"

namespace stretto::engine {

using schedule::Position;

enum class Space : std::uint8_t { input, output, scratch, cell };

// Bytes of a position's memory.  Input and output are addressed by the place in the whole vector.
struct Range {
    Space space = Space::input;
    std::size_t offset = 0;
    std::size_t length = 0;
    bool operator==(const Range &) const = default;
};

struct Operand {
    Range range;               // own memory; for a cell only the length
    Position owner = -1;       // cell: the rank that publishes it
    std::int32_t publish = -1; // cell: index among its owner's publishes
};

using PassIndices = InlineVector<std::int32_t, 2>;

struct Pass {
    InlineVector<Operand, 2> operands; // in fold order
    std::optional<Range> result;       // own memory
    std::int32_t publish = -1;         // index among own publishes
    PassIndices after;                 // own passes that must complete before this one
    std::int32_t op = 0;               // its place in the program
    std::int32_t layer = 0;  // the index of the slice in its block; depth first means by layer
    std::size_t length = 0;  // bytes; if positions are alike, of the longest one
    std::int32_t block = 0;  // the index of the block in the list of its op, and
    std::size_t within = 0;  // how many bytes of it lie before this slice
    bool local_copy = false; // copies input to output: not needed if they are the same
    bool gone = false;       // fused into another
};

struct Reader {
    Position position;
    std::int32_t pass;
    std::int32_t message; // of the schedule; all cells of one message have the same number
    std::int32_t send;    // the publisher's op
};

using Readers = InlineVector<Reader, 2>;

struct Publish {
    std::size_t length = 0;
    std::int32_t pass = -1; // the owner's pass that writes it
    Readers readers;
};

// The passes of all positions, or of one that stands for all.  In the second case the others have
// the same passes, except for their peers and the offsets of their blocks: pass i at position q
// reads from a peer at the same distance from q as pass i of `standing` does from it.
struct Lowered {
    std::vector<std::vector<Pass>> passes;       // by index
    std::vector<std::vector<Publish>> publishes; // by index
    std::vector<std::size_t> scratch_bytes;      // by index
    std::optional<schedule::Symmetry> symmetry;  // one stands for all
    Position representative = 0;                 // the position, in that case

    std::size_t index(Position position) const {
        return symmetry ? 0 : static_cast<std::size_t>(position);
    }
    // Translates a `peer` in a pass or a publish at this index for `position`.
    Position seen_from(Position position, Position peer) const {
        return symmetry ? symmetry->sum(position, symmetry->difference(peer, representative))
                        : peer;
    }
};

struct LowerOptions {
    std::size_t count = 0;         // elements of the vector
    std::size_t element = 4;       // bytes of one
    Piece piece = {};              // of every block
    std::size_t slice = 65536;     // bytes, at most, of one pass
    bool commutes = false;         // the operation: a op b and b op a have the same bits
    bool fuse = true;              // false: every message and every op separately, as in the proof
    bool output_everywhere = true; // false: only blocks that the contract ends with have a place in
                                   // the output (reduce_scatter, reduce); others go to scratch
};

// The schedule must be proved.  Throws Error(unsupported) for what this engine cannot run.
Lowered lower(const schedule::Schedule &schedule, const LowerOptions &options);

// The same for one position that stands for all, in 1 / P of the time and memory.  Nothing if
// positions are not alike at this count: then all of them have to be lowered.  All positions come
// to the same decision.
std::optional<Lowered> lower_alike(const schedule::Schedule &schedule, Position position,
                                   const LowerOptions &options);

} // namespace stretto::engine
