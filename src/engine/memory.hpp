// SPDX-License-Identifier: BSD-3-Clause
// The layout of the blocks of slots in the memory of a position.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "engine/blocks.hpp"
#include "engine/lower.hpp"
#include "schedule/schedule.hpp"

namespace stretto::engine {

inline constexpr std::size_t kAlignBytes = 64;
constexpr std::size_t align_up(std::size_t bytes) {
    return round_up(bytes, kAlignBytes);
}

// The place of a piece of a slot, in two ways.  For hazards, input and output of a block are one
// place, since they are the same memory in calls in place.  Physically, they are two.
struct Place {
    bool scratch = false;
    std::size_t key = 0; // offset in the vector, or in the scratch memory of slots
    Range range;
};

// The memory of one position while its program is walked.
class Memory {
public:
    Memory(const schedule::Schedule &schedule, Position position,
           const std::vector<schedule::Op> &ops, const Blocks &blocks, bool output_everywhere)
        : blocks_(blocks), written_(static_cast<std::size_t>(schedule.blocks())) {
        std::map<std::pair<schedule::Slot, schedule::Block>, std::size_t> used;
        const auto use = [&](schedule::Slot slot, schedule::Block block) {
            const bool covered = output_everywhere || schedule.contract.end(position, block);
            if (slot > schedule::kWork || (slot == schedule::kWork && !covered))
                used.emplace(std::pair(slot, block), 0);
        };
        for (const schedule::Op &op : ops) {
            for (const schedule::Block block : op.blocks) {
                for (const schedule::Slot source : op.sources)
                    if (source != schedule::kWork)
                        use(source, block);
                if (op.from > schedule::kWork)
                    use(op.from, block);
                if (op.into != schedule::kNoSlot && op.targets.empty())
                    use(op.into, block);
            }
            for (const schedule::Block block : op.targets)
                use(op.into, block);
        }
        std::size_t bytes = 0;
        // Blocks of a slot are in ascending order without gaps, so that neighbours can be sent
        // together.
        schedule::Slot previous = schedule::kNoSlot;
        for (auto &[key, offset] : used) {
            if (key.first != previous)
                bytes = align_up(bytes);
            previous = key.first;
            offset = bytes;
            bytes += blocks_.length(key.second);
        }
        scratch_ = {used.begin(), used.end()};
    }

    Place read(schedule::Slot slot, schedule::Block block) const {
        if (const std::size_t first = blocks_.first(block);
            slot == schedule::kWork && !written(block))
            return {false, first, {Space::input, first, blocks_.length(block)}};
        return locate(slot, block);
    }

    Place write(schedule::Slot slot, schedule::Block block) {
        if (slot == schedule::kWork)
            written_[static_cast<std::size_t>(block)] = true;
        return locate(slot, block);
    }

    bool written(schedule::Block block) const { return written_[static_cast<std::size_t>(block)]; }

private:
    Place locate(schedule::Slot slot, schedule::Block block) const {
        const std::size_t offset = blocks_.first(block), length = blocks_.length(block);
        const auto found = scratch_.find({slot, block});
        if (found == scratch_.end())
            return {false, offset, {Space::output, offset, length}};
        return {slot != schedule::kWork,
                slot == schedule::kWork ? offset : found->second,
                {Space::scratch, found->second, length}};
    }

    const Blocks &blocks_;
    std::vector<bool> written_;
    std::map<std::pair<schedule::Slot, schedule::Block>, std::size_t> scratch_;
};

} // namespace stretto::engine
