// SPDX-License-Identifier: BSD-3-Clause
// Which positions share a host, and within a host which share a last-level cache.
//
//   text            ranks   hosts
//   4               any     4 hosts, neighbours share one, as evenly as they can
//   8x4             32      8 hosts of 4 ranks
//   3,1,2           6       0 1 2 | 3 | 4 5
//   cyclic:3x2      6       0 3 | 1 4 | 2 5
//   cyclic:3,1,2    6       0 3 5 | 1 | 2 4: ranks are dealt out in turn to the hosts with room
//   cyclic:4        any     4 hosts, ranks dealt out in turn
//   map:0,1,0,2     4       0 2 | 1 | 3: the host of each rank
//   2x8/4           16      4 neighbours of a host share a cache
//
// Hosts and caches are numbered in the order of their lowest ranks, so two topologies are equal if
// and only if the same ranks share the same things.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/partition.hpp"

namespace stretto::schedule {

class Topology {
public:
    enum class Level : std::uint8_t { host, cache };
    // The positions of each group, ascending; the groups in the order of their lowest positions.
    using Groups = std::vector<std::vector<Position>>;

    Topology() = default; // nothing is known: all ranks share one host
    // By position, any numbers that are not negative.  Without caches, nothing is known of them.
    // Throws Error(argument) if a number is negative, or if a cache is on two hosts.
    explicit Topology(std::span<const std::int32_t> host_of,
                      std::span<const std::int32_t> cache_of = {});
    // Reads a text as in the table above.  `ranks`: their number, or 0 if the text alone gives it.
    // Throws Error(argument) with what is wrong and how a topology is written.
    static Topology parse(std::string_view text, Position ranks = 0);

    bool known() const { return !host_of_.empty(); }
    Position ranks() const { return static_cast<Position>(host_of_.size()); } // 0 if not known
    Position hosts() const { return hosts_; }                                 // 1 if not known
    const std::vector<std::int32_t> &host_of() const { return host_of_; }
    const std::vector<std::int32_t> &cache_of() const { return cache_of_; } // empty: not known

    // For this many positions; if caches are not known, the hosts stand for them.
    Groups groups(Level level, Position ranks) const;
    // The topology in which position p takes the place of rank `order[p]`; unchanged if there is no
    // order.
    Topology ordered(std::span<const Position> order) const;
    // The shortest text that parse() reads.
    std::string text() const;

    bool operator==(const Topology &) const = default;

private:
    std::vector<std::int32_t> host_of_, cache_of_; // by position
    Position hosts_ = 1;
};

} // namespace stretto::schedule
