// SPDX-License-Identifier: BSD-3-Clause
// The slices of ops: where they lie in the memory of a position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/inline_vector.hpp"
#include "engine/memory.hpp"

namespace stretto::engine {

using Places = InlineVector<Place, 2>;

// A slice of one op: where it reads (one place for each operand of own memory) and writes.
struct Slice {
    Places reads;
    std::optional<Place> write;
    std::size_t length = 0;
    std::size_t stored = 0; // bytes that it takes in a stream, where all positions are alike
    std::int32_t layer = 0;
    std::int32_t block = 0; // in the list of its op, and the bytes of it before the slice
    std::size_t within = 0;
};

// What an op touches, block by block in the order of its list.
struct Touch {
    Places reads;
    std::optional<Place> write;
};

std::vector<Touch> touches(const schedule::Op &op, Memory &memory);

// Those of `blocks` that end where they began: a position holds them from the start, its program
// has never written them, and they still have to reach the output.
std::vector<Touch> fills(const schedule::Schedule &schedule, Position position,
                         const std::vector<schedule::Block> &blocks, Memory &memory);

// Cuts an op, or the two sides of a message alike (`other` may be null), into slices of at most
// `most` bytes, of whole elements (schedule/slices.hpp).  Short blocks travel together where they
// are neighbours in the memory of both sides.
void cut(const std::vector<Touch> &touch, const std::vector<Touch> *other, std::size_t most,
         std::size_t element, std::vector<Slice> &slices, std::vector<Slice> *other_slices);

// The same where blocks differ by one element at most, none is empty, and every position has to cut
// its blocks into as many slices, whichever are the longer ones: none travels with a neighbour, and
// the last slice of a block takes what it has more than the least.
std::vector<Slice> cut_alike(const std::vector<Touch> &touch, const Blocks &blocks,
                             std::size_t most, std::size_t element);

} // namespace stretto::engine
