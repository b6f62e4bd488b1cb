// SPDX-License-Identifier: BSD-3-Clause
// A network that many schedules are priced over: its hosts are numbered, and it keeps the symmetry
// classes for each group of a symmetric schedule.  Computing these classes takes longer than
// pricing a schedule, and the candidates of a choice share a few groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "cost/price.hpp"
#include "cost/symmetry_classes.hpp"

namespace stretto::cost {

// How data move between positions of one host.
//
//   messages   as between hosts: they occupy a port of the sender and one of the receiver
//   reads      the receiver reads the sender's memory.  Any number of receivers read from one
//              position at once, so data occupy the in-port of the receiver only
enum class Inside : std::uint8_t { messages, reads };

class IndexedNetwork {
public:
    // Throws Error(argument) if a number is negative or not finite, or some positions have hosts,
    // but not all.
    IndexedNetwork(Network network, schedule::Position ranks, Inside inside = Inside::messages);

    const Network &as_given() const { return given_; }
    schedule::Position ranks() const { return ranks_; }
    std::uint32_t hosts() const { return hosts_; } // 0 if each position has a host of its own
    std::uint32_t host_of(schedule::Position position) const {
        return host_of_[static_cast<std::size_t>(position)];
    }
    // Either no two positions share a port, or all of them do.
    bool uniform() const { return alone_ || hosts_ == 1; }
    bool between(schedule::Position a, schedule::Position b) const {
        return alone_ || host_of(a) != host_of(b);
    }
    const Link &link(schedule::Position a, schedule::Position b) const {
        return between(a, b) ? given_.between : given_.inside;
    }
    // How much of the time that a piece takes the ports of its two positions it takes a port that
    // positions of a host share; 0: there is none, as for data that are read.
    double share(schedule::Position a, schedule::Position b, std::size_t bytes) const;
    // Whether data from one of these to the other occupy no port of the sender.
    bool read(schedule::Position a, schedule::Position b) const {
        return inside_ == Inside::reads && !between(a, b);
    }
    const Link &own() const { return alone_ ? given_.between : given_.inside; }

    // Computed once for each group; the reference is valid as long as this object.
    const SymmetryClasses &classes(const schedule::Symmetry &group) const;

private:
    Network given_;
    Inside inside_;
    schedule::Position ranks_;
    std::vector<std::uint32_t> host_of_; // numbered from 0
    std::uint32_t hosts_ = 0;
    bool alone_ = true;         // every position has a host of its own
    std::vector<int> ranks_of_; // by host
    mutable std::map<std::tuple<bool, int, std::size_t>, double> shares_; // that were asked for
    mutable std::deque<SymmetryClasses> classes_;
};

} // namespace stretto::cost
