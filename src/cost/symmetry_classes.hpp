// SPDX-License-Identifier: BSD-3-Clause
// Classes of positions that do the same at the same time: one of them represents all.
//
// A symmetric schedule looks the same from p and from p + g, for any g of its group.  If adding g
// also takes the positions of each host to the positions of one host (another one, unless g is 0),
// then p and p + g also share ports with positions that do the same, and nothing distinguishes
// them.
//
//   8 positions in a circle, 2 on each host     0 1 | 2 3 | 4 5 | 6 7
//   adding 2, 4 or 6 takes hosts to hosts       0 represents 0 2 4 6,  1 represents 1 3 5 7
//
// The representatives are all positions of some hosts, so each shares its host's port with the same
// positions as in reality.
//
//   8 positions in a circle, dealt to 4 hosts   0 4 | 1 5 | 2 6 | 3 7
//
// has no such g: 1 takes hosts to hosts, but so does 4, which takes each host to itself.  Here 0
// represents all positions nevertheless.  Two represented positions then share a port, and each
// counts as the one that is served last.  The same is done if hosts have many positions.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/symmetry.hpp"

namespace stretto::cost {

class SymmetryClasses {
public:
    // Each position represents itself.
    static SymmetryClasses none(schedule::Position ranks);
    // If no two positions share a port: one position represents all.
    static SymmetryClasses one(schedule::Symmetry group);
    // By the host of each position; hosts are numbered 0 ... hosts - 1, and each has a position.
    static SymmetryClasses of_hosts(schedule::Symmetry group,
                                    const std::vector<std::uint32_t> &host_of);

    const schedule::Symmetry &group() const { return group_; }
    const std::vector<schedule::Position> &representatives() const { return representatives_; }
    // The index, in representatives(), of the representative of this position.
    std::uint32_t of(schedule::Position position) const {
        return number_[static_cast<std::size_t>(position)];
    }
    // How many positions of a class are on one host.
    int together() const { return together_; }
    // How many positions are in a class.
    int size() const { return group_.size() / static_cast<int>(representatives_.size()); }
    // The element of the group that takes `from` to `to`.
    schedule::Position difference(schedule::Position to, schedule::Position from) const {
        return group_.difference(to, from);
    }

private:
    explicit SymmetryClasses(schedule::Symmetry group) : group_(std::move(group)) {}

    schedule::Symmetry group_;
    std::vector<schedule::Position> representatives_;
    std::vector<std::uint32_t> number_; // by position
    int together_ = 1;
};

} // namespace stretto::cost
