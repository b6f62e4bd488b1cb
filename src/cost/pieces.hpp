// SPDX-License-Identifier: BSD-3-Clause
// A schedule at one count, cut into the pieces that travel; walk.hpp plays them.
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
    std::int32_t op = 0;       // its index in the path
    std::int32_t layer = 0;    // the index of the slice in its block
    std::uint32_t waits = 0;   // the number of tasks that it is ordered after
    MessageId message = kNone; // the message that it sends or receives
    // If it sends: the task that publishes what it sends (streams.hpp), the task itself or an
    // earlier one.
    TaskId publisher = kNone;
    bool sends = false;
    double seconds = 0; // of the ports if it sends, else of the processor
};

// A piece on its way.
struct Message {
    TaskId send = 0, recv = 0;
    double bytes = 0; // of its sender's stream, with the headers of its slices
    double latency = 0;
    // The ports that it uses: of its sender and its receiver; of its receiver alone, which reads
    // it; of both, and those that positions of a host share, to other hosts or inside their host.
    enum class Ports : std::uint8_t { both, reader, between_hosts, inside_host };
    Ports ports = Ports::both;
    double shared_seconds = 0; // that it uses shared ports
    double ahead = 0;   // seconds that pieces of other represented positions use these before
    bool eager = false; // it does not wait for its receive
    int common = 0;     // the pieces between hosts that it represents, of all positions
};

struct Pieces {
    std::uint32_t positions = 0;
    std::uint32_t hosts = 0;            // 0 if their ports do not matter
    std::vector<std::uint32_t> host_of; // by position, 0 ... hosts - 1
    std::vector<Task> tasks;
    std::vector<Message> messages;
    std::vector<TaskId> dependents;         // of task 0, then of task 1, ...
    std::vector<std::size_t> dependents_at; // by task, and one more: where its dependents begin
    // The parts of the price that need no walk.  The seconds are those of the busiest port of a
    // position; if they are beyond the limit, nothing else is filled in.
    Price counts;
};

// Throws as price() does, except for deadlocks.
//
// Only representatives are positions here (symmetry_classes.hpp).  A message goes to the
// representative of its destination.  By symmetry, that one receives it from a position in the
// class of the sender, at the same distance.  `all`: every position represents itself alone.
Pieces pieces_of(const schedule::Schedule &schedule, std::size_t count, std::size_t element,
                 std::size_t slice, const IndexedNetwork &network, const Limits &limits,
                 bool all = false);

} // namespace stretto::cost
