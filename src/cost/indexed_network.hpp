// SPDX-License-Identifier: BSD-3-Clause
// A network that is looked at many times: its hosts numbered, and of each group that schedules of
// it look the same by, who stands for whom there.  It takes longer to find out than a schedule
// takes to price, and all candidates of a choice have few groups between them.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "cost/price.hpp"
#include "cost/symmetry_classes.hpp"

namespace stretto::cost {

class IndexedNetwork {
public:
    // Throws Error(argument) if a number is negative or not finite, or some positions have hosts,
    // but not all.
    IndexedNetwork(Network network, schedule::Position ranks);

    const Network &as_given() const { return given_; }
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
        return between(a, b) ? given_.between : given_.inside;
    }
    const Link &own() const { return alone_ ? given_.between : given_.inside; }

    // Found once for each group, and there as long as this is.
    const SymmetryClasses &classes(const schedule::Symmetry &group) const;

private:
    Network given_;
    schedule::Position ranks_;
    std::vector<std::uint32_t> host_of_; // numbered from 0
    std::uint32_t hosts_ = 0;
    bool alone_ = true; // every position
    mutable std::deque<SymmetryClasses> classes_;
};

} // namespace stretto::cost
