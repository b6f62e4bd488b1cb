// SPDX-License-Identifier: BSD-3-Clause
// The ports of all positions, hosts and racks, and the messages that wait for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "simulate/compile.hpp"
#include "simulate/sharing.hpp"

namespace stretto::simulate {

// A message that could start if its ports were free.
struct Waiting {
    Ticks since;
    std::uint32_t index; // of the send in its program
    schedule::Position from, to;
    MessageId message;

    // The message that has waited longest goes first; of several, the one that is first in its
    // program.
    bool operator>(const Waiting &other) const {
        return std::tie(since, index, from) > std::tie(other.since, other.index, other.from);
    }
};

// Each message waits at one port on its way that has no room.  So when a port gets free, all
// messages that could start because of it wait there; if another port on its way has no room, a
// message moves on to that port.
//
//   0 -> 2 and 1 -> 2 wait at in-port 2; 0 -> 3, which came later, waits at out-port 0, busy with
//   0 -> 4.  When 0 -> 4 ends, 0 -> 3 starts if in-port 3 is free, else it moves there.
class Ports {
public:
    // Throws Error(argument) if a position has no host, a host no rack, or a rack no uplink.
    Ports(schedule::Position ranks, const Sharing &sharing);

    void wait(const Waiting &waiting);
    void release(schedule::Position from, schedule::Position to);
    // Called after all events of a moment: the messages that start now.
    const std::vector<MessageId> &start();

private:
    using PortId = std::size_t;
    using Queue = std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>>;
    struct Port {
        Queue queue;
        std::uint32_t room = 1; // for more messages
    };
    // The ports on the way of a message.
    struct Way {
        std::array<PortId, 6> ids;
        std::size_t size = 0;

        void add(PortId out, PortId in) {
            ids[size++] = out;
            ids[size++] = in;
        }
        const PortId *begin() const { return ids.data(); }
        const PortId *end() const { return ids.data() + size; }
    };

    // The port with this number, among those of all positions, hosts and racks.
    static PortId out(std::size_t number) { return 2 * number; }
    static PortId in(std::size_t number) { return 2 * number + 1; }

    Way way(schedule::Position from, schedule::Position to) const;
    void offer(PortId port);

    std::vector<Port> ports_;
    std::vector<std::size_t> host_, rack_; // the numbers of each position's; empty: not shared
    std::vector<PortId> touched_;          // perhaps free with messages waiting
    // The first messages that wait at free ports; the one that has waited longest is first.
    using Head = std::pair<Waiting, PortId>;
    std::vector<Head> heads_; // a heap
    std::vector<MessageId> started_;
};

} // namespace stretto::simulate
