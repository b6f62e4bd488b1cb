// SPDX-License-Identifier: BSD-3-Clause
// The cells that each op reads and writes; defined here alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// A cell is one block of one slot of one position.
struct Access {
    Slot slot;
    Block block;
    bool reads;
    bool writes;
};

// A cell as a key of hash tables.
inline std::uint64_t cell_key(Slot slot, Block block) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(slot)) << 32 |
           static_cast<std::uint32_t>(block);
}

inline const std::vector<Block> &targets_of(const Op &op) {
    return op.targets.empty() ? op.blocks : op.targets;
}

// One end of a message.
inline bool is_message(const Op &op) {
    return op.kind == OpKind::send || op.kind == OpKind::recv;
}

// A receive that reduces in place: the slot is operand and result.
inline bool reduces_in_place(const Op &op) {
    return op.kind == OpKind::recv && op.from == op.into;
}

// Calls visit(Access) once for every cell of the op, also for a cell that the op reads and writes.
template<class Visit>
void each_access(const Op &op, Visit &&visit) {
    switch (op.kind) {
    case OpKind::send:
        for (const Block block : op.blocks)
            visit(Access{op.from, block, true, false});
        return;
    case OpKind::recv:
        for (const Block block : op.blocks) {
            if (op.from != kNoSlot && op.from != op.into)
                visit(Access{op.from, block, true, false});
            visit(Access{op.into, block, op.from == op.into, true});
        }
        return;
    case OpKind::reduce: {
        const bool updates = std::count(op.sources.begin(), op.sources.end(), op.into) > 0;
        for (const Block block : op.blocks) {
            for (const Slot source : op.sources)
                if (source != op.into)
                    visit(Access{source, block, true, false});
            visit(Access{op.into, block, updates, true});
        }
        return;
    }
    case OpKind::copy: {
        const std::vector<Block> &targets = targets_of(op);
        for (std::size_t i = 0; i < op.blocks.size(); ++i) {
            visit(Access{op.from, op.blocks[i], true, false});
            visit(Access{op.into, targets[i], false, true});
        }
        return;
    }
    }
}

} // namespace stretto::schedule
