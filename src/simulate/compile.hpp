// SPDX-License-Identifier: BSD-3-Clause
// A schedule at one count, one network and one mode, as flat tables of everything that takes time.
//
// A ring of 4096 has 67 million ops, so each op and message takes only a few bytes.
#pragma once

#include <cstddef>
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

// The times of ops of one size.  There are few different sizes.
struct Cost {
    std::size_t bytes;
    std::size_t reductions; // of each byte
    Ticks transfer;         // of a message
    Ticks work;             // of the processor, after the message if there is one
};

// An op.
struct Task {
    schedule::Position position;
    MessageId message;       // the one it sends or receives, or kNone
    std::uint32_t sends : 1; // the message, rather than receives it
    std::uint32_t cost : 31; // which one
};

struct Message {
    TaskId send, recv;
};

// The dependencies between the tasks of a position, in the language's order (mode ordered).
struct Order {
    std::vector<std::uint32_t> waits; // per task: how many earlier ones it is ordered after
    std::vector<TaskId> edges;        // the dependents of task 0, then of task 1, ...
    std::vector<std::size_t> base;    // per position: where those of its tasks begin
    // Per task, and one more for each position, from its base on: where its dependents begin.
    std::vector<std::uint32_t> from;
};

struct Model {
    std::vector<Task> tasks;   // position 0's in program order, then position 1's, ...
    std::vector<TaskId> first; // per position and one more: its tasks
    std::vector<TaskId> gate;  // per position: the first task that waits for the token
    std::vector<Cost> costs;
    std::vector<Message> messages;
    std::vector<schedule::Block> blocks; // per task: the first one; for events only
    Order order;

    // All positions do the same at the same time, and only the first is here: it receives what it
    // sends.
    bool one_for_all = false;

    std::size_t positions() const { return gate.size(); }
    const Cost &cost(TaskId task) const { return costs[tasks[task].cost]; }
    // Its index in the program of its position.
    std::uint32_t index(TaskId task) const {
        return task - first[static_cast<std::size_t>(tasks[task].position)];
    }
    // The tasks ordered after this one.
    std::span<const TaskId> dependents(TaskId task) const {
        const auto position = static_cast<std::size_t>(tasks[task].position);
        const std::uint32_t *from = &order.from[task + position];
        return std::span(order.edges).subspan(order.base[position] + from[0], from[1] - from[0]);
    }
};

// Programs are made one at a time and dropped, as those of a thousand positions fill the memory.
//
// If a schedule looks the same from all positions, the first position stands for all, provided that
// ranks arrive together, no link is shared, all blocks have the same size and each position walks:
// then all positions do the same at the same time.  (Ports take messages that could start at once
// in the order of programs, and those at one place of it are of different senders to different
// receivers.  In mode ordered a processor takes what becomes possible at one moment in an order
// that does depend on positions.)
Model compile(const schedule::Schedule &schedule, const Problem &problem);

} // namespace stretto::simulate
