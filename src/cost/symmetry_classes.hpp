// SPDX-License-Identifier: BSD-3-Clause
// Positions that do alike at the same time, so that one of them stands for all.
//
// What a symmetric schedule does looks the same from p and from p + g, for any g of its group.  If
// adding g also takes the positions of each host to those of one host, another one unless g is 0,
// they share ports with positions that do the same too, and nothing tells p and p + g apart.
//
//   8 positions in a circle, 2 on each host     0 1 | 2 3 | 4 5 | 6 7
//   adding 2, 4 or 6 takes hosts to hosts       0 stands for 0 2 4 6,  1 for 1 3 5 7
//
// Those who stand for others are all positions of some hosts, so that each shares its host's port
// with the same positions as it does in truth.
//
//   8 positions in a circle, dealt to 4 hosts   0 4 | 1 5 | 2 6 | 3 7
//
// has nothing of the kind: 1 takes hosts to hosts, but so does 4, which leaves them where they are.
// Here 0 stands for all nevertheless, and 2 positions that it stands for share a port, where each
// is taken for the one that is served last.  So it is too where hosts have many positions.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/symmetry.hpp"

namespace stretto::cost {

class SymmetryClasses {
public:
    // Each position stands for itself.
    static SymmetryClasses none(schedule::Position ranks);
    // Where nobody shares a port: one position stands for all.
    static SymmetryClasses one(schedule::Symmetry group);
    // By the numbers of their hosts: 0 ... hosts - 1, each the host of some position.
    static SymmetryClasses of_hosts(schedule::Symmetry group,
                                    const std::vector<std::uint32_t> &host_of);

    const schedule::Symmetry &group() const { return group_; }
    const std::vector<schedule::Position> &representatives() const { return representatives_; }
    // Who stands for the position, as an index among them.
    std::uint32_t of(schedule::Position position) const {
        return number_[static_cast<std::size_t>(position)];
    }
    // How many of those that one stands for are on one host.
    int together() const { return together_; }
    // How many each stands for.
    int size() const { return group_.size() / static_cast<int>(representatives_.size()); }
    // What takes the one to the other.
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
