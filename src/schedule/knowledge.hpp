// SPDX-License-Identifier: BSD-3-Clause
// Who surely knows the token, and from when on.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

struct OpRef {
    Position position = 0;
    std::int32_t index = 0; // in the path
    bool operator==(const OpRef &) const = default;
};

// For each position, for each op, the ops of the same position that it waits for.
using Waits = std::vector<std::vector<std::vector<std::int32_t>>>;

// A message surely carries the token only if its send cannot be issued before the sender knows: by
// its dependencies, not by luck.  Follows the spread of this sure knowledge while ops complete.
//
// Without a token, or with an elected one, nobody waits and nothing is carried.
class Knowledge {
public:
    Knowledge() = default;
    Knowledge(const Schedule &schedule, const std::vector<Program> &programs, const Waits &before);

    // True if the op belongs to a suffix that its position may start only when it knows.
    bool gated(OpRef op) const;
    bool knows(Position position) const { return known_.empty() || known_[at(position)] != 0; }

    // True if this send, all of whose dependencies are complete, carries the token.
    bool carries(OpRef send, const Waits &before) const;
    // An op is complete; `carried`: the token came with it.
    void complete(OpRef op, bool carried, const Waits &before);

    // The first op of the suffix; meaningful where gated() holds for some op.
    std::int32_t gate(Position position) const { return gates_[at(position)]; }

private:
    static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
    bool inherits(OpRef op, const Waits &before) const;

    // All empty unless a token has an arbiter.
    std::vector<char> known_;                 // per position
    std::vector<std::int32_t> gates_;         // per position: the first gated op
    std::vector<std::vector<char>> informed_; // per op: complete means that its position knows
    Position arbiter_ = -1;
    std::int32_t issued_after_ = 0;
    std::int32_t missing_ = 0;      // ops that the arbiter completes before it issues
    std::vector<char> after_issue_; // the arbiter's ops that cannot start before it
};

} // namespace stretto::schedule
