// SPDX-License-Identifier: BSD-3-Clause
// The byte offsets of the blocks of a vector, and for a long vector the piece of every block that a
// plan covers.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "schedule/partition.hpp"
#include "schedule/schedule.hpp"

namespace stretto::engine {

// A range of bytes of each block, cut at the block's end.
struct Piece {
    std::size_t first = 0;
    std::size_t length = std::numeric_limits<std::size_t>::max();
};

class Blocks {
public:
    Blocks(const schedule::Partition &partition, std::size_t count, std::size_t element,
           Piece piece = {});

    std::size_t first(schedule::Block block) const { return at(block).first; }
    std::size_t length(schedule::Block block) const { return at(block).length; }
    std::size_t least() const { return least_; }
    std::size_t longest() const { return longest_; }

private:
    const Piece &at(schedule::Block block) const {
        return pieces_[static_cast<std::size_t>(block)];
    }

    std::vector<Piece> pieces_; // by block: from the begin of the vector
    std::size_t least_ = 0, longest_ = 0;
};

} // namespace stretto::engine
