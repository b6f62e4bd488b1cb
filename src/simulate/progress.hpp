// SPDX-License-Identifier: BSD-3-Clause
// Finds the tasks that may start: their position has arrived, the tasks before them are complete,
// and they do not wait for the token.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/compile.hpp"

namespace stretto::simulate {

class Progress {
public:
    // `model` outlives this.  `ordered`: in the language's order; otherwise each position walks its
    // program.
    Progress(const Model &model, bool ordered);

    // Events.  Each appends the tasks that may start now to `ready`.
    void arrive(schedule::Position position, std::vector<TaskId> &ready);
    void learn_token(schedule::Position position, std::vector<TaskId> &ready);
    void complete(TaskId task, std::vector<TaskId> &ready);

    bool knows_token(schedule::Position position) const { return knows_token_[at(position)]; }

private:
    static std::size_t at(schedule::Position position) {
        return static_cast<std::size_t>(position);
    }
    void release(TaskId task, std::vector<TaskId> &ready);
    void walk_to(TaskId task, schedule::Position position, std::vector<TaskId> &ready);

    const Model &model_;
    bool ordered_;
    std::vector<bool> knows_token_;
    // For walks, per position: the task at which it waits for the token, or kNone.
    std::vector<TaskId> held_;
    // In the language's order, per task: the number of events that it waits for.
    std::vector<std::uint32_t> waits_;
};

} // namespace stretto::simulate
