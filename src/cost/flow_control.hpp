// SPDX-License-Identifier: BSD-3-Clause
// How far positions may write their streams, while their pieces are played (walk.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "cost/pieces.hpp"
#include "cost/streams.hpp"

namespace stretto::cost {

class FlowControl {
public:
    // Both outlive this.  Empty streams hold nothing.
    FlowControl(const Pieces &pieces, const Streams &streams);

    // Whether the cell that the task publishes or sends has no room yet.  Then take_freed() returns
    // the task as soon as it has.
    bool holds(TaskId task) {
        if (streams_.empty())
            return false;
        const CellId cell =
            streams_.cell_of[pieces_.tasks[task].sends ? pieces_.tasks[task].publisher : task];
        return cell != kNone && keeps(task, cell);
    }
    // The task is done as far as the progress of its position is concerned; if it sends, before its
    // piece has left.  A second time changes nothing.
    void pass(TaskId task) {
        if (!streams_.empty())
            progress(task);
    }
    // Sets `tasks` to those that have got room since the last time.
    void take_freed(std::vector<TaskId> &tasks);
    // If all positions wait for room, pieces are too long for the ring, and the engine cuts thinner
    // ones.  Frees a task; false if none is held.
    bool open_for_one();

private:
    // The place in the stream up to which a ring must reach, and the task that waits for that.
    using Held = std::pair<double, TaskId>;
    struct Stream {
        std::uint32_t next = 0;   // in the position's sequence: the first task that has not passed
        std::uint32_t oldest = 0; // the first cell that not all readers have taken
        bool watches = false;     // a reader of that cell
        std::priority_queue<Held, std::vector<Held>, std::greater<>> held;
        std::vector<std::uint32_t> watchers; // positions whose oldest cell this one has not taken
    };

    bool keeps(TaskId task, CellId id);
    void progress(TaskId task);
    double written_up_to(std::uint32_t position); // at most
    bool has_taken(TaskId reader) const;
    void watch(std::uint32_t position);

    const Pieces &pieces_;
    const Streams &streams_;
    std::vector<Stream> positions_;
    std::vector<bool> passed_;         // by task
    std::vector<std::uint32_t> moved_; // positions whose watched reader has made progress
    std::vector<TaskId> freed_;
};

} // namespace stretto::cost
