// SPDX-License-Identifier: BSD-3-Clause
// Appends the ops of one position round by round.  The ops of a round wait for those of the round
// before, as on a machine with one port in and one port out.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/assemble.hpp"

namespace stretto::algorithms {

class RoundOps {
public:
    explicit RoundOps(Ops &ops) : ops_(ops) {}

    // Begins a round.  A round in which no op has to be waited for does not count: the next round
    // waits for the one before it.
    void begin_round() {
        if (!round_.empty())
            before_ = std::exchange(round_, {});
    }
    // An op of this round; the next round waits for it if `awaited`.
    void add(Op op, bool awaited = true) {
        op.after = before_;
        if (awaited)
            round_.push_back(static_cast<std::int32_t>(ops_.size()));
        ops_.push_back(std::move(op));
    }
    // An op outside of the rounds: it waits only for its operands, and no round waits for it.
    void add_free(Op op) { ops_.push_back(std::move(op)); }

private:
    Ops &ops_;
    std::vector<std::int32_t> before_, round_; // ops of the round before, and of this one
};

} // namespace stretto::algorithms
