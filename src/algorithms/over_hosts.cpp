// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/over_hosts.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace stretto::algorithms {

namespace {

using Level = Topology::Level;

constexpr std::array<std::string_view, 7> kIntra = {
    "direct", "direct_canonical", "ring", "circulant", "generalized", "recursive_halving", "bruck"};
constexpr std::array<std::string_view, 2> kLevels = {"host", "cache"};

Parameter named(std::string_view name, std::span<const std::string_view> names,
                std::string_view meaning) {
    return {.name = name,
            .fallback = 0,
            .least = 0,
            .most = static_cast<std::int64_t>(names.size()) - 1,
            .meaning = meaning,
            .names = names};
}

std::size_t index_of(const Problem &problem, const char *name) {
    return static_cast<std::size_t>(parameter(problem, name));
}

} // namespace

Parameter intra_parameter(std::string_view meaning) {
    return named("intra", kIntra, meaning);
}

Parameter inter_parameter(std::span<const std::string_view> names, std::string_view meaning) {
    return named("inter", names, meaning);
}

Parameter leaders_parameter() {
    return {.name = "leaders",
            .fallback = 4096,
            .least = 1,
            .most = 4096,
            .meaning = "ranks of a host that work on a part each with other hosts; the smallest "
                       "host may have fewer"};
}

Parameter level_parameter() {
    return named("level", kLevels, "the level at which ranks of a group are near");
}

OverHosts::OverHosts(Collective collective, const Problem &problem,
                     std::span<const std::string_view> inter)
    : OverHosts(problem, kIntra[index_of(problem, "intra")],
                {&find(collective, inter[index_of(problem, "inter")]), {}},
                parameter(problem, "leaders")) {}

OverHosts::OverHosts(const Problem &problem, std::string_view intra, Choice inter, Position leaders)
    : groups_(problem.topology.groups(index_of(problem, "level") == 0 ? Level::host : Level::cache,
                                      problem.ranks)),
      intra_(intra), inter_(std::move(inter)), leaders_(leaders) {
    for (const std::vector<Position> &group : groups_)
        leaders_ = std::min(leaders_, static_cast<Position>(group.size()));
}

Position OverHosts::host_of(Position rank) const {
    const auto found = std::ranges::find_if(groups_, [&](const std::vector<Position> &group) {
        return std::ranges::find(group, rank) != group.end();
    });
    return static_cast<Position>(found - groups_.begin());
}

Position OverHosts::place_of(Position rank) const {
    const std::vector<Position> &group = host(host_of(rank));
    return static_cast<Position>(std::ranges::find(group, rank) - group.begin());
}

Blocks OverHosts::class_of(Position host, Position leader) const {
    Blocks found;
    for (Position place = leader; place < size_of(host); place += leaders_)
        found.push_back(this->host(host)[static_cast<std::size_t>(place)]);
    return found;
}

std::vector<std::uint64_t> OverHosts::shares(Position size) const {
    if (leaders_ == size)
        return {};
    std::vector<std::uint64_t> own(static_cast<std::size_t>(size), 0);
    std::fill_n(own.begin(), leaders_, 1);
    return own;
}

Choice OverHosts::reduce_scatter() const {
    return {&find(Collective::reduce_scatter, intra_), {}};
}

Choice OverHosts::allgather(Position size) const {
    if (intra_ == "direct_canonical")
        return {&find(Collective::allgather, "direct"), {}};
    if (intra_ != "recursive_halving")
        return {&find(Collective::allgather, intra_), {}};
    // Doubling is the distribution over a group of twos; no position needs to be folded.
    if (!power_of_two(size) || size == 1)
        return {&find(Collective::allgather, "circulant"), {}};
    const Value twos(static_cast<std::size_t>(log2_floor(size)), 2);
    return {&find(Collective::allgather, "generalized"), {{"group", twos}}};
}

std::string OverHosts::misfit() const {
    if (const std::string why = algorithms::misfit(inter_, between()); !why.empty())
        return "inter=" + std::string(inter_.algorithm->name) + ", which " + why;
    return "";
}

bool OverHosts::blocked() const {
    Position next = 0;
    for (const std::vector<Position> &group : groups_)
        for (const Position rank : group)
            if (rank != next++)
                return false;
    return true;
}

bool OverHosts::cut_as_canonical() const {
    const Position size = size_of(0);
    for (Position g = 0; g < hosts(); ++g) {
        const bool last = g + 1 == hosts();
        if (last ? size_of(g) > size : size_of(g) != size || !power_of_two(size))
            return false;
    }
    return true;
}

std::shared_ptr<const Schedule> shared(const Choice &choice, Position ranks, Position root,
                                       std::vector<std::uint64_t> shares) {
    return std::make_shared<const Schedule>(make(choice, ranks, root, std::move(shares)));
}

Blocks blocks_of_part(Position part, Block cut) {
    return consecutive(part * cut, cut);
}

namespace {

template<class BlocksOf>
Stage between(const OverHosts &of, const std::shared_ptr<const Schedule> &inter,
              const BlocksOf &blocks_of) {
    Stage stage;
    for (Position leader = 0; leader < (of.hosts() == 1 ? 0 : of.leaders()); ++leader) {
        Part &part = stage.emplace_back(Part{inter, {}, {}});
        for (const std::vector<Position> &host : of.groups())
            part.positions.push_back(host[static_cast<std::size_t>(leader)]);
        for (Block block = 0; block < inter->blocks(); ++block)
            part.blocks.push_back(blocks_of(leader, block));
    }
    return stage;
}

} // namespace

Stage between_leaders(const OverHosts &of, const std::shared_ptr<const Schedule> &inter) {
    return between(of, inter, [&](Position leader, Block block) {
        return Blocks{leader * inter->blocks() + block};
    });
}

Stage between_classes(const OverHosts &of, const std::shared_ptr<const Schedule> &inter) {
    return between(of, inter,
                   [&](Position leader, Block host) { return of.class_of(host, leader); });
}

std::vector<Blocks> blocks_by_leader(Position size, Position leaders, Block cut) {
    std::vector<Blocks> blocks(static_cast<std::size_t>(size));
    for (Position part = 0; part < leaders; ++part)
        blocks[static_cast<std::size_t>(part)] = blocks_of_part(part, cut);
    return blocks;
}

} // namespace stretto::algorithms
