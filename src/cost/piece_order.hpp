// SPDX-License-Identifier: BSD-3-Clause
// The order of the pieces of one program: that of the language (schedule/dependencies.hpp), for
// each slice.
//
//   op 0  recv block 0 in 3 slices     tasks 0 1 2
//   op 1  send block 0                 tasks 3 4 5: 3 waits for 0, 4 for 1, 5 for 2
//
// Windows and `after` edges are between whole ops: each piece of the later op waits for all pieces
// of the earlier one.
//
// It also finds the task that publishes what a task sends, by the rules of the engine's lowering
// (engine/lower.hpp): a result that is sent is published by the task that makes it, and data that
// are sent several times are published once.  In programs with windows or `after` edges each send
// publishes for itself.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cost/pieces.hpp"
#include "cost/slicing.hpp"
#include "schedule/hazards.hpp"
#include "schedule/schedule.hpp"

namespace stretto::cost {

class PieceOrder {
public:
    using Pair = std::pair<TaskId, TaskId>; // the earlier, the later

    // Appends tasks, and pairs of tasks; Error(unsupported) if there are more than `work` of both.
    PieceOrder(std::vector<Task> &tasks, std::vector<Pair> &pairs, std::size_t work)
        : tasks_(tasks), pairs_(pairs), work_(work) {}

    void begin(std::uint32_t position, const schedule::Program &program);
    // The op's pieces, tasks from `first` on, have just been appended.  Ops are added in program
    // order.
    void add(const schedule::Op &op, const Cut &cut, TaskId first);

private:
    // The hazards of one block of one slot; ops are named by their first tasks.
    struct Cell {
        schedule::Hazards<std::vector<TaskId>> hazards;
        std::uint32_t position = kNone; // the hazards are of this position; others begin anew
        TaskId sent = kNone; // the first piece of the first op that sent it since it was written
    };
    struct Whole { // an op
        TaskId first;
        std::uint32_t pieces;
        TaskId end = kNone; // a task that is done when all pieces are
    };

    Cell &cell(schedule::Slot slot, schedule::Block block);
    void publish(Cell &cell, TaskId own, const Place &place);
    void wait(TaskId earlier, TaskId later);
    void wait_for_all(std::int32_t earlier, const Whole &later);

    std::vector<Task> &tasks_;
    std::vector<Pair> &pairs_;
    std::size_t work_;
    std::uint32_t position_ = 0;
    schedule::OpenOps open_;
    bool fuses_ = true; // the program at hand has neither windows nor `after` edges
    std::unordered_map<std::uint64_t, Cell> cells_; // kept: positions use much the same blocks
    std::vector<Whole> ops_;
    std::vector<TaskId> latest_; // by task: the last task that waits for it
};

} // namespace stretto::cost
