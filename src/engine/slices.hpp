// SPDX-License-Identifier: BSD-3-Clause
// The slices of ops, and their places in the memory of a position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/inline_vector.hpp"
#include "engine/memory.hpp"

namespace stretto::engine {

using Places = InlineVector<Place, 2>;

// A slice of one op: the places that it reads (one for each operand in own memory) and the place
// that it writes.
struct Slice {
    Places reads;
    std::optional<Place> write;
    std::size_t length = 0;
    std::size_t stored = 0; // bytes in a stream, if all positions are alike
    std::int32_t layer = 0;
    std::int32_t block = 0; // index in the list of its op; bytes before the slice
    std::size_t within = 0;
};

// The memory that an op touches, block by block in the order of its list.
struct Touch {
    Places reads;
    std::optional<Place> write;
};

std::vector<Touch> touches(const schedule::Op &op, Memory &memory);

// The blocks of `blocks` that the position holds from the start and its program never writes: they
// still have to be copied to the output.
std::vector<Touch> local_copies(const schedule::Schedule &schedule, Position position,
                                const std::vector<schedule::Block> &blocks, Memory &memory);

// For each block of an op: whether it can be sent together with the block before it that has bytes.
// Empty: none can.
using Joins = std::vector<bool>;

// The blocks that begin where the block before them ends, in all memory that the op touches.
Joins joins(const std::vector<Touch> &touch);
// The blocks that can be sent together with the one before them on both sides of a message.
Joins both(const Joins &a, const Joins &b);

// Cuts an op into slices of at most `most` bytes, of whole elements (schedule/slices.hpp).  Short
// blocks that can be sent together are.
std::vector<Slice> cut(const std::vector<Touch> &touch, const Joins &joins, std::size_t most,
                       std::size_t element);
// The number of slices of an op on these blocks.
std::size_t count_slices(const std::vector<schedule::Block> &list, const Blocks &blocks,
                         const Joins &joins, std::size_t most, std::size_t element);

// The same if blocks differ by at most one element, none is empty, and every position has to cut
// its blocks into the same number of slices, whichever blocks are longer.  No block is sent with a
// neighbour, and the last slice of a block takes its additional element.
std::vector<Slice> cut_alike(const std::vector<Touch> &touch, const Blocks &blocks,
                             std::size_t most, std::size_t element);

} // namespace stretto::engine
