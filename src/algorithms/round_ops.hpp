// SPDX-License-Identifier: BSD-3-Clause
// Appends the ops of one position round by round: those of a round wait for those of the one
// before, as the ports of a machine would have it that has one in and one out.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/assemble.hpp"

namespace stretto::algorithms {

class RoundOps {
public:
    explicit RoundOps(Ops &ops) : ops_(ops) {}

    // A round of which nothing is awaited is none: the next one waits for the one before it.
    void begin_round() {
        if (!round_.empty())
            before_ = std::exchange(round_, {});
    }
    // Has to be through before the next round begins, unless nobody waits for it.
    void add(Op op, bool awaited = true) {
        op.after = before_;
        if (awaited)
            round_.push_back(static_cast<std::int32_t>(ops_.size()));
        ops_.push_back(std::move(op));
    }
    // Waits for nothing but its operands, and nothing for it.
    void add_free(Op op) { ops_.push_back(std::move(op)); }

private:
    Ops &ops_;
    std::vector<std::int32_t> before_, round_; // ops of the round before, and of this one
};

} // namespace stretto::algorithms
