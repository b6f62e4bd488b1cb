// SPDX-License-Identifier: BSD-3-Clause
// A schedule at one count, cut into the pieces that travel: what price.hpp walks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cost/indexed_network.hpp"
#include "cost/price.hpp"

namespace stretto::cost {

using TaskId = std::uint32_t;
using MessageId = std::uint32_t;
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// One piece of one op.
struct Task {
    std::uint32_t position = 0;
    std::int32_t op = 0;       // in the path
    std::int32_t layer = 0;    // which slice of its block
    std::uint32_t waits = 0;   // how many tasks it is ordered after
    MessageId message = kNone; // that it sends or takes
    bool sends = false;
    double seconds = 0; // of the ports, if it sends; else of the processor
};

// A piece on its way.
struct Message {
    TaskId send = 0, recv = 0;
    double latency = 0;
    bool host_ports = false; // it takes those of the two hosts too
    double ahead = 0;        // seconds of those, for others that its sender stands for
    bool eager = false;      // it does not wait for its receive
    int common = 0;          // pieces between hosts that it stands for, of all positions
};

struct Pieces {
    std::uint32_t positions = 0;
    std::uint32_t hosts = 0;            // 0 if their ports do not matter
    std::vector<std::uint32_t> host_of; // by position, 0 ... hosts - 1
    std::vector<Task> tasks;
    std::vector<Message> messages;
    std::vector<TaskId> dependents;         // of task 0, then of task 1, ...
    std::vector<std::size_t> dependents_at; // by task and one more: where its own begin
    // What takes no walk to know.  Its seconds are those of the busiest port of a position; if that
    // is beyond the limit, there is no more than that.
    Price counts;
};

// Throws as price() does, but at deadlocks.
//
// Positions are those that stand for all (symmetry_classes.hpp), and a message goes to who stands
// for its destination: what that one receives from somebody whom the sender stands for, and who is
// as far from it.  `all`: every position stands for itself alone.
Pieces pieces_of(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
                 std::size_t slice, const IndexedNetwork &network, const Limits &limits,
                 bool all = false);

} // namespace stretto::cost
