// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/ports.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/status.hpp"

namespace stretto::simulate {

using schedule::Position;

namespace {

// The first of a heap is the smallest.
constexpr auto kLater = [](const auto &a, const auto &b) { return a.first > b.first; };

std::size_t number_of(const std::vector<std::uint32_t> &places) {
    return places.empty() ? 0 : std::size_t{*std::max_element(places.begin(), places.end())} + 1;
}

void check_places(const std::vector<std::uint32_t> &places, std::size_t expected, const char *of,
                  const char *where) {
    if (places.size() != expected)
        throw Error(Status::argument, "simulate: " + std::to_string(places.size()) + " " + where +
                                          " for " + std::to_string(expected) + " " + of +
                                          "; give one for each, or none");
    // Counts the hosts or racks that have members, so that a wild number costs no memory.
    if (number_of(places) > expected)
        throw Error(Status::argument, "simulate: there is a number " +
                                          std::to_string(number_of(places) - 1) + " among the " +
                                          where + " of " + std::to_string(expected) + " " + of +
                                          "; count them from 0 on");
}

} // namespace

Ports::Ports(Position ranks, const Sharing &sharing) {
    const auto positions = static_cast<std::size_t>(ranks);
    ports_.resize(2 * positions);
    if (!sharing.any())
        return;
    host_.resize(positions);
    std::iota(host_.begin(), host_.end(), positions);
    std::size_t hosts = positions;
    if (!sharing.host_of.empty()) {
        check_places(sharing.host_of, positions, "positions", "hosts");
        hosts = number_of(sharing.host_of);
        for (std::size_t p = 0; p < positions; ++p)
            host_[p] = positions + sharing.host_of[p];
    }
    ports_.resize(2 * (positions + hosts));
    if (sharing.rack_of.empty())
        return;
    check_places(sharing.rack_of, hosts, "hosts", "racks");
    if (sharing.uplinks == 0)
        throw Error(Status::argument, "simulate: a rack needs at least 1 uplink, not 0");
    for (const std::size_t host : host_)
        rack_.push_back(positions + hosts + sharing.rack_of[host - positions]);
    Port uplinks;
    uplinks.room = sharing.uplinks;
    ports_.resize(2 * (positions + hosts + number_of(sharing.rack_of)), uplinks);
}

Ports::Way Ports::way(Position from, Position to) const {
    const auto source = static_cast<std::size_t>(from), destination = static_cast<std::size_t>(to);
    Way way;
    way.add(out(source), in(destination));
    if (host_.empty() || host_[source] == host_[destination])
        return way;
    way.add(out(host_[source]), in(host_[destination]));
    if (!rack_.empty() && rack_[source] != rack_[destination])
        way.add(out(rack_[source]), in(rack_[destination]));
    return way;
}

void Ports::wait(const Waiting &waiting) {
    const PortId port = out(static_cast<std::size_t>(waiting.from));
    ports_[port].queue.push(waiting);
    touched_.push_back(port);
}

void Ports::release(Position from, Position to) {
    for (const PortId port : way(from, to)) {
        ++ports_[port].room;
        touched_.push_back(port);
    }
}

void Ports::offer(PortId port) {
    if (ports_[port].room == 0 || ports_[port].queue.empty())
        return;
    heads_.emplace_back(ports_[port].queue.top(), port);
    std::push_heap(heads_.begin(), heads_.end(), kLater);
}

const std::vector<MessageId> &Ports::start() {
    started_.clear();
    for (const PortId port : touched_)
        offer(port);
    touched_.clear();
    while (!heads_.empty()) {
        const auto [head, here] = heads_.front();
        std::pop_heap(heads_.begin(), heads_.end(), kLater);
        heads_.pop_back();
        Port &port = ports_[here];
        if (port.room == 0 || port.queue.empty() || port.queue.top().message != head.message)
            continue; // queued twice, or others have started meanwhile
        port.queue.pop();
        const Way way = this->way(head.from, head.to);
        const PortId *full = std::find_if(way.begin(), way.end(),
                                          [&](PortId each) { return ports_[each].room == 0; });
        if (full != way.end()) {
            ports_[*full].queue.push(head);
        } else {
            for (const PortId each : way)
                --ports_[each].room;
            started_.push_back(head.message);
        }
        offer(here);
    }
    return started_;
}

} // namespace stretto::simulate
