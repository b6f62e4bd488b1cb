// SPDX-License-Identifier: BSD-3-Clause
// A schedule at one count, one network and one mode, as flat tables of what takes time.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "simulate/simulate.hpp"
#include "simulate/ticks.hpp"

namespace stretto::simulate {

// Tasks and messages are numbered over all positions.
using TaskId = std::uint32_t;
using MessageId = std::uint32_t;
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// An op.
struct Task {
    schedule::Position position;
    MessageId message;     // the one it sends or receives, or kNone
    Ticks work;            // of the processor, after the message if there is one
    schedule::Block block; // the first one
    bool sends;            // the message, rather than receives it
    bool reduces;          // what it receives, or what is here
    bool gated;            // waits until its position knows the token
};

struct Message {
    TaskId send, recv;
    Ticks transfer;
};

struct Model {
    std::vector<Task> tasks;             // position 0's in program order, then position 1's, ...
    std::vector<TaskId> first;           // per position and one more: its tasks
    std::vector<std::uint32_t> waits;    // per task: how many earlier ones it is ordered after
    std::vector<TaskId> edges;           // the dependents of task 0, then of task 1, ...
    std::vector<std::size_t> edges_from; // per task and one more
    std::vector<Message> messages;

    // The tasks ordered after this one.
    std::span<const TaskId> dependents(TaskId task) const {
        return std::span(edges).subspan(edges_from[task], edges_from[task + 1] - edges_from[task]);
    }
    // Its index in the program of its position.
    std::uint32_t index(TaskId task) const {
        return task - first[static_cast<std::size_t>(tasks[task].position)];
    }
};

// Programs are made one at a time and dropped, as those of a thousand positions fill the memory.
Model compile(const schedule::Schedule &schedule, const Problem &problem);

} // namespace stretto::simulate
