// SPDX-License-Identifier: BSD-3-Clause
#include "select/placement.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "select/measured.hpp"

namespace stretto::select {

using schedule::Position;
using schedule::Symmetry;

Placement::Placement(Topology topology, Position ranks)
    : topology_(std::move(topology)), ranks_(ranks) {
    for (const Link &link : {topology_.inside, topology_.between})
        for (const double value : {link.latency, link.overhead, link.byte, link.reduce})
            if (!(value >= 0) || !std::isfinite(value))
                throw Error(Status::argument, "price: a link has " + std::to_string(value) +
                                                  "; its times are finite and not negative");
    if (topology_.host_of.empty())
        return;
    if (topology_.host_of.size() != static_cast<std::size_t>(ranks))
        throw Error(Status::argument, "price: " + std::to_string(topology_.host_of.size()) +
                                          " positions have hosts, of " + std::to_string(ranks) +
                                          "; give one for each, or none");
    for (const int host : in_order(topology_.host_of))
        host_of_.push_back(static_cast<std::uint32_t>(host));
    hosts_ = *std::max_element(host_of_.begin(), host_of_.end()) + 1;
    alone_ = hosts_ == host_of_.size();
}

const Orbits &Placement::orbits(const Symmetry &group) const {
    const auto found = std::ranges::find(orbits_, group, &Orbits::group);
    if (found != orbits_.end())
        return *found;
    return orbits_.emplace_back(uniform() ? Orbits::one(group) : Orbits::of_hosts(group, host_of_));
}

} // namespace stretto::select
