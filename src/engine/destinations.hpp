// SPDX-License-Identifier: BSD-3-Clause
// The destinations in a reader's output: a publisher may store a result directly there (zero-copy
// write).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/blocks.hpp"
#include "engine/lower.hpp"
#include "schedule/schedule.hpp"

namespace stretto::engine {

class Destinations {
public:
    Destinations(const schedule::Schedule &schedule, const Lowered &lowered, const Blocks &blocks)
        : schedule_(schedule), lowered_(lowered), blocks_(blocks) {}

    // The offset in the vector.  The reader's pass only copies to its output.
    std::size_t offset(const Reader &reader);

private:
    // The blocks that the ops of a position write or send, and for each op the index of its first
    // one.
    struct Labels {
        std::vector<schedule::Block> blocks;
        std::vector<std::uint32_t> first;
        std::vector<bool> receives; // by op
    };
    const Labels &labels(Position position);

    const schedule::Schedule &schedule_;
    const Lowered &lowered_;
    const Blocks &blocks_;
    // Used if one position stands for all, so that the offsets of the others' blocks are not known.
    std::unordered_map<Position, Labels> labels_;
};

} // namespace stretto::engine
