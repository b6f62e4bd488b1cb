// SPDX-License-Identifier: BSD-3-Clause
// The ports of all positions, and the messages that wait for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "simulate/compile.hpp"

namespace stretto::simulate {

// A message that could start but for its ports.
struct Waiting {
    Ticks since;
    std::uint32_t index; // of the send in its program
    schedule::Position from, to;
    MessageId message;

    // Who waits longest goes first; then who stands first in its program.
    bool operator>(const Waiting &other) const {
        return std::tie(since, index, from) > std::tie(other.since, other.index, other.from);
    }
};

// Each message waits at one of its two ports, one that is busy.  So when a port gets free, all that
// could start because of it wait there; those whose other port is busy move on to that one.
//
//   0 -> 2 and 1 -> 2 wait at in-port 2; 0 -> 3, which came later, waits at out-port 0, busy with
//   0 -> 4.  When 0 -> 4 ends, 0 -> 3 starts if in-port 3 is free, else it moves there.
class Ports {
public:
    explicit Ports(schedule::Position ranks);

    void wait(const Waiting &waiting);
    void release(schedule::Position from, schedule::Position to);
    // When all that happens at one moment has happened: who starts then.
    const std::vector<MessageId> &start();

private:
    using Queue = std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>>;
    struct Port {
        Queue queue;
        bool busy = false;
    };

    static std::size_t out(schedule::Position p) { return 2 * static_cast<std::size_t>(p); }
    static std::size_t in(schedule::Position p) { return out(p) + 1; }

    std::vector<Port> ports_;
    std::vector<std::size_t> touched_; // perhaps free with messages waiting
    std::vector<MessageId> started_;
};

} // namespace stretto::simulate
