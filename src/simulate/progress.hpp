// SPDX-License-Identifier: BSD-3-Clause
// Which tasks may be reached: whose position has arrived, whose earlier ones are complete, and that
// do not wait for the token.
#pragma once

#include <cstdint>
#include <vector>

#include "simulate/compile.hpp"

namespace stretto::simulate {

class Progress {
public:
    // `model` outlives this.  In the language's order, or else each position walks its program.
    Progress(const Model &model, bool ordered);

    // What has happened; each tells what may be reached now by appending it to `ready`.
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
    // Of walks, per position: it stands at this task, which waits for the token, or kNone.
    std::vector<TaskId> held_;
    // In the language's order, per task: how many things it waits for.
    std::vector<std::uint32_t> waits_;
};

} // namespace stretto::simulate
