// SPDX-License-Identifier: BSD-3-Clause
// Where in its output a rank wants what it takes of others: a publisher may store it right there.
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

    // Bytes before it in the vector.  The reader's pass does nothing but copy to its output.
    std::size_t offset(const Reader &reader);

private:
    // What the ops of a position write, or send: blocks, and by op where its own begin.
    struct Labels {
        std::vector<schedule::Block> blocks;
        std::vector<std::uint32_t> first;
        std::vector<bool> receives; // by op
    };
    const Labels &labels(Position position);

    const schedule::Schedule &schedule_;
    const Lowered &lowered_;
    const Blocks &blocks_;
    // Where one position stands for all, and so knows not where the others' blocks lie.
    std::unordered_map<Position, Labels> labels_;
};

} // namespace stretto::engine
