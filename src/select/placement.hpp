// SPDX-License-Identifier: BSD-3-Clause
// A network that is looked at many times: its hosts numbered, and of each group that schedules of
// it look the same by, who stands for whom there.  It takes longer to find out than a schedule
// takes to price, and all candidates of a choice have few groups between them.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "select/orbits.hpp"
#include "select/price.hpp"

namespace stretto::select {

class Placement {
public:
    // Throws Error(argument) if a number is negative or not finite, or some positions have hosts,
    // but not all.
    Placement(Topology topology, schedule::Position ranks);

    const Topology &topology() const { return topology_; }
    schedule::Position ranks() const { return ranks_; }
    std::uint32_t hosts() const { return hosts_; } // 0 if each position has its own
    std::uint32_t host_of(schedule::Position position) const {
        return host_of_[static_cast<std::size_t>(position)];
    }
    // Nobody shares a port with some and not with others.
    bool uniform() const { return alone_ || hosts_ == 1; }
    bool between(schedule::Position a, schedule::Position b) const {
        return alone_ || host_of(a) != host_of(b);
    }
    const Link &link(schedule::Position a, schedule::Position b) const {
        return between(a, b) ? topology_.between : topology_.inside;
    }
    const Link &own() const { return alone_ ? topology_.between : topology_.inside; }

    // Found once for each group, and there as long as this is.
    const Orbits &orbits(const schedule::Symmetry &group) const;

private:
    Topology topology_;
    schedule::Position ranks_;
    std::vector<std::uint32_t> host_of_; // numbered from 0
    std::uint32_t hosts_ = 0;
    bool alone_ = true; // every position
    mutable std::deque<Orbits> orbits_;
};

} // namespace stretto::select
