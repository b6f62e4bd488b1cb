// SPDX-License-Identifier: BSD-3-Clause
// A schedule at one count, cut into the pieces that travel: what price.hpp walks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "select/price.hpp"

namespace stretto::select {

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
    bool eager = false;      // it does not wait for its receive
};

struct Pieces {
    std::uint32_t positions = 0;
    std::uint32_t hosts = 0;            // 0 if their ports do not matter
    std::vector<std::uint32_t> host_of; // by position, 0 ... hosts - 1
    std::vector<Task> tasks;
    std::vector<Message> messages;
    std::vector<TaskId> dependents;         // of task 0, then of task 1, ...
    std::vector<std::size_t> dependents_at; // by task and one more: where its own begin
    Price counts;                           // what takes no walk to know
};

// Throws as price() does, but at deadlocks.
//
// Of a symmetric schedule, one position whose messages go to itself: what all do at the same time,
// each to another.  Its k-th send of a lane and a number of blocks meets its k-th receive of the
// same: if position p sends by op i what position q takes by op j, then by symmetry whatever p is
// receives by op j too, and messages of one kind are sent in the order in which they are taken.
// The language does not promise that last thing; it holds for the algorithms of the library, where
// a test compares the price with that of all positions.
Pieces pieces_of(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
                 std::size_t slice, const Topology &topology, std::size_t work);

} // namespace stretto::select
