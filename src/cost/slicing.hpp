// SPDX-License-Identifier: BSD-3-Clause
// The slices of ops (schedule/slices.hpp) as price.hpp counts them: the slices of a long block are
// equally long, and all blocks of an op's list count as neighbours in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::cost {

struct Piece {
    double bytes;
    double slices;      // the number that it stands for: each has an overhead
    std::int32_t layer; // the index of the slice in its block; 0 for short blocks
};

// The pieces of an op that hold one block of its list.
struct Place {
    std::uint32_t first;
    std::uint32_t pieces; // 0 if the block has no bytes
};

struct Cut {
    std::vector<Piece> pieces;
    std::vector<Place> places; // one for each block of the list
};

class Slicing {
public:
    // `alike`: all blocks are equally long to within an element, as in a symmetric schedule.  A
    // block is cut into at most `most` pieces.  Throws as Partition::bounds().
    Slicing(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
            std::size_t slice, std::size_t most, bool alike);

    std::size_t bytes(const std::vector<schedule::Block> &blocks) const;
    std::size_t bytes(schedule::Block block) const;

    void cut(const std::vector<schedule::Block> &blocks, Cut &result) const;

private:
    std::size_t share(std::size_t blocks) const; // bytes of this many blocks, if all are alike

    std::vector<std::size_t> bounds_; // bytes
    std::size_t each_, rest_;         // elements of all blocks, and those left over
    std::size_t element_, slice_, most_;
    bool alike_;
    std::size_t one_; // bytes of a block, if all are alike
};

} // namespace stretto::cost
