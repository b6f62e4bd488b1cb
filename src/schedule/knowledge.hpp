// SPDX-License-Identifier: BSD-3-Clause
// Which positions certainly know the token, and from when on.
#pragma once

#include <cstdint>
#include <vector>

#include "base/index.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

struct OpRef {
    Position position = 0;
    std::int32_t index = 0; // in the path
    bool operator==(const OpRef &) const = default;
};

// For each op of each position: the ops of the same position that it waits for.
using Waits = std::vector<std::vector<std::vector<std::int32_t>>>;

// Follows how the token spreads while ops complete.  A message certainly carries the token only if
// the dependencies of its send guarantee that the sender knows it by then.
//
// Without a token, or with an elected one, no position waits and no message carries it.
class Knowledge {
public:
    Knowledge() = default;
    Knowledge(const Schedule &schedule, const std::vector<Program> &programs, const Waits &before);

    // True if the op belongs to a suffix that its position may start only when it knows the token.
    bool gated(OpRef op) const;
    bool knows(Position position) const { return known_.empty() || known_[at(position)] != 0; }

    // True if this send, all of whose dependencies are complete, carries the token.
    bool carries(OpRef send, const Waits &before) const;
    // An op is complete; `carried`: the token came with it.
    void complete(OpRef op, bool carried, const Waits &before);

    // The first op of the suffix; meaningful if gated() holds for some op.
    std::int32_t gate(Position position) const { return gates_[at(position)]; }

private:
    bool inherits(OpRef op, const Waits &before) const;

    // All empty unless a token has an arbiter.
    std::vector<char> known_;         // per position
    std::vector<std::int32_t> gates_; // per position: the first gated op
    std::vector<std::vector<char>>
        informed_; // per op: when it is complete, its position knows the token
    Position arbiter_ = -1;
    std::int32_t issued_after_ = 0;
    std::int32_t missing_ = 0; // ops that the arbiter completes before it issues the token
    std::vector<char>
        after_issue_; // ops of the arbiter that cannot start before the token is issued
};

} // namespace stretto::schedule
