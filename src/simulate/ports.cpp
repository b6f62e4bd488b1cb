// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/ports.hpp"

#include <utility>

namespace stretto::simulate {

Ports::Ports(schedule::Position ranks) : ports_(2 * static_cast<std::size_t>(ranks)) {}

void Ports::wait(const Waiting &waiting) {
    ports_[out(waiting.from)].queue.push(waiting);
    touched_.push_back(out(waiting.from));
}

void Ports::release(schedule::Position from, schedule::Position to) {
    for (const std::size_t port : {out(from), in(to)}) {
        ports_[port].busy = false;
        touched_.push_back(port);
    }
}

const std::vector<MessageId> &Ports::start() {
    started_.clear();
    // The heads of the free ports, so that who waits longest is first among all of them.
    using Head = std::pair<Waiting, std::size_t>;
    const auto later = [](const Head &a, const Head &b) { return a.first > b.first; };
    std::priority_queue<Head, std::vector<Head>, decltype(later)> heads(later);
    const auto offer = [&](std::size_t port) {
        if (!ports_[port].busy && !ports_[port].queue.empty())
            heads.emplace(ports_[port].queue.top(), port);
    };
    for (const std::size_t port : touched_)
        offer(port);
    touched_.clear();
    while (!heads.empty()) {
        const auto [head, here] = heads.top();
        heads.pop();
        Port &port = ports_[here];
        if (port.busy || port.queue.empty() || port.queue.top().message != head.message)
            continue; // offered twice, or started from the other side
        port.queue.pop();
        const std::size_t there = here == out(head.from) ? in(head.to) : out(head.from);
        if (ports_[there].busy) {
            ports_[there].queue.push(head);
            offer(here);
            continue;
        }
        port.busy = ports_[there].busy = true;
        started_.push_back(head.message);
    }
    return started_;
}

} // namespace stretto::simulate
