// SPDX-License-Identifier: BSD-3-Clause
// What compositions over hosts have in common: which ranks share a host, which of them lead, and
// which algorithms run inside hosts and between them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/compose.hpp"

namespace stretto::algorithms {

// The parameters; values of the first two are indices of names.
Parameter intra_parameter(std::string_view meaning);
Parameter inter_parameter(std::span<const std::string_view> names, std::string_view meaning);
Parameter leaders_parameter();
Parameter level_parameter();

// The structure that the parameters and the topology give.
class OverHosts {
public:
    // `inter`: the names that the parameter of that name has; algorithms of the same collective.
    OverHosts(Collective collective, const Problem &problem,
              std::span<const std::string_view> inter);
    // With at most so many leaders of each host, where these are no parameters.
    OverHosts(const Problem &problem, std::string_view intra, Choice inter, Position leaders);

    using Groups = Topology::Groups;
    const Groups &groups() const { return groups_; }
    Position hosts() const { return static_cast<Position>(groups_.size()); }
    const std::vector<Position> &host(Position host) const {
        return groups_[static_cast<std::size_t>(host)];
    }
    Position size_of(Position host) const { return static_cast<Position>(this->host(host).size()); }
    Position leaders() const { return leaders_; }
    // The host of a rank, and the rank's position there.
    Position host_of(Position rank) const;
    Position place_of(Position rank) const;

    // Where ranks have blocks of their own: those of a host for which leader j of it stands, which
    // are j, j + L, j + 2 L ... of the host.
    Blocks class_of(Position host, Position leader) const;

    // The two halves of an allreduce inside a host of this many ranks, of which only the leaders
    // own blocks.
    std::vector<std::uint64_t> shares(Position size) const;
    Choice reduce_scatter() const;
    Choice allgather(Position size) const;
    Problem inside(Position size) const {
        return problem_of(reduce_scatter(), size, 0, shares(size));
    }
    // Between hosts; `root` is a host.
    const Choice &inter() const { return inter_; }
    Problem between(Position root = 0) const { return problem_of(inter_, hosts(), root); }
    // "", or why `inter` cannot run on so many hosts.
    std::string misfit() const;

    // Neighbours share a host.
    bool blocked() const;
    // Whether what reduces inside each host and what runs between hosts have a property.
    template<Property Algorithm::*property>
    bool have(Position root = 0) const {
        for (const std::vector<Position> &group : groups_)
            if (const auto size = static_cast<Position>(group.size());
                size > 1 && !(reduce_scatter().algorithm->*property)(inside(size)))
                return false;
        return hosts() == 1 || (inter_.algorithm->*property)(between(root));
    }
    // The canonical tree cuts a range of ranks at the largest power of two below its size.  If all
    // hosts except the last have 2^k ranks, and the last has at most 2^k, every cut of more than
    // 2^k ranks lies between two hosts.
    bool cut_as_canonical() const;

private:
    Groups groups_;
    std::string_view intra_;
    Choice inter_;
    Position leaders_ = 1;
};

// Schedules of parts are shared: hosts with as many ranks have the same.
std::shared_ptr<const Schedule> shared(const Choice &choice, Position ranks, Position root = 0,
                                       std::vector<std::uint64_t> shares = {});

// The blocks of part j of the vector, which an algorithm between hosts cuts into `cut`.
Blocks blocks_of_part(Position part, Block cut);
// Leaders with the same number run `inter`, each number on its part of the vector.
Stage between_leaders(const OverHosts &of, const std::shared_ptr<const Schedule> &inter);
// The same where a block of `inter` stands for the blocks of a class.
Stage between_classes(const OverHosts &of, const std::shared_ptr<const Schedule> &inter);
// For each rank of a host: the blocks of the part that it leads; of others none.
std::vector<Blocks> blocks_by_leader(Position size, Position leaders, Block cut);

} // namespace stretto::algorithms
