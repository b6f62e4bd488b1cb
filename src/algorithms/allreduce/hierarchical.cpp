// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical: reduce inside each host, allreduce between hosts, gather inside each host.
//
// Source: Bayatpour et al., "Scalable reduction collectives with data partitioning-based
// multi-leader design" (DPML), SC 2017.
//
//   leaders   the first L ranks of each host, L at most what the smallest host has
//   part j    1 / L of the vector: leader j of each host reduces it inside the host, then with the
//             leaders j of the other hosts
//
//   hosts 0 1 2 | 3 | 4 5, leaders 1    2 and 1 give 0 the vector, 5 gives it to 4
//                                       0, 3 and 4 reduce among hosts
//                                       0 gives the result to 1 and 2, 4 to 5
//   hosts 0 1 | 2 3, leaders 2          0 reduces half the vector of 0 1, 1 the other; 2, 3 alike
//                                       0 reduces its half with 2, 1 with 3;  0 and 1 exchange
//
// Within a host it runs the halves of an allreduce (`intra`), between hosts any allreduce
// (`inter`).  With fewer leaders than ranks the blocks of the others are empty: a reduce-scatter
// to one leader is a reduce.  Nothing waits for a stage to end, only for blocks.
//
// Steps     those of the three stages, one after the other
// Bytes     between hosts a host sends what `inter` sends of the whole vector, whatever L is; each
//           leader sends 1 / L of it
// Good where hosts have several ranks and a network between them is slower than their memory.  Any
// number of ranks, any hosts; without a topology all share one.  Operands stay in order where the
// ranks of a host are neighbours and both algorithms keep them in order.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "algorithms/catalog.hpp"
#include "algorithms/compose.hpp"

namespace stretto::algorithms {

namespace {

using schedule::Topology;
using Groups = Topology::Groups;
using Level = Topology::Level;

constexpr std::array<std::string_view, 7> kIntra = {
    "direct", "direct_canonical", "ring", "circulant", "generalized", "recursive_halving", "bruck"};
constexpr std::array<std::string_view, 17> kInter = {"ring",
                                                     "direct",
                                                     "direct_canonical",
                                                     "recursive_doubling",
                                                     "rabenseifner",
                                                     "rabenseifner_32",
                                                     "circulant",
                                                     "generalized",
                                                     "hybrid",
                                                     "bruck",
                                                     "dissemination",
                                                     "segmented_ring",
                                                     "one_shot",
                                                     "one_shot_canonical",
                                                     "linear",
                                                     "binomial",
                                                     "chain"};
constexpr std::array<std::string_view, 2> kLevels = {"host", "cache"};

constexpr Parameter named(std::string_view name, std::span<const std::string_view> names,
                          std::string_view meaning) {
    return {.name = name,
            .fallback = 0,
            .least = 0,
            .most = static_cast<std::int64_t>(names.size()) - 1,
            .meaning = meaning,
            .names = names};
}

// The structure that the parameters and the topology give.
struct Hierarchy {
    explicit Hierarchy(const Problem &problem)
        : groups(problem.topology.groups(
              parameter(problem, "level") == 0 ? Level::host : Level::cache, problem.ranks)) {
        const auto index = [&](const char *name) {
            return static_cast<std::size_t>(parameter(problem, name));
        };
        intra = kIntra[index("intra")];
        inter.algorithm = &find(Collective::allreduce, kInter[index("inter")]);
        leaders = parameter(problem, "leaders");
        for (const std::vector<Position> &group : groups)
            leaders = std::min(leaders, static_cast<Position>(group.size()));
    }

    Position hosts() const { return static_cast<Position>(groups.size()); }

    // The two halves of an allreduce inside a host of this many ranks, of which only the leaders
    // own blocks.
    std::vector<std::uint64_t> shares(Position size) const {
        if (leaders == size)
            return {};
        std::vector<std::uint64_t> own(static_cast<std::size_t>(size), 0);
        std::fill_n(own.begin(), leaders, 1);
        return own;
    }
    Choice reduce_scatter() const { return {&find(Collective::reduce_scatter, intra), {}}; }
    Choice allgather(Position size) const {
        if (intra == "direct_canonical")
            return {&find(Collective::allgather, "direct"), {}};
        if (intra != "recursive_halving")
            return {&find(Collective::allgather, intra), {}};
        // Doubling is the distribution over a group of twos; no position needs to be folded.
        if (!power_of_two(size) || size == 1)
            return {&find(Collective::allgather, "circulant"), {}};
        const Value twos(static_cast<std::size_t>(log2_floor(size)), 2);
        return {&find(Collective::allgather, "generalized"), {{"group", twos}}};
    }
    Problem inside(Position size) const {
        return problem_of(reduce_scatter(), size, 0, shares(size));
    }
    Problem between() const { return problem_of(inter, hosts()); }

    bool all_alike() const { return uniform() && leaders == size_of(0); }
    bool uniform() const {
        return std::ranges::all_of(groups,
                                   [&](const auto &g) { return g.size() == groups[0].size(); });
    }
    Position size_of(std::size_t group) const {
        return static_cast<Position>(groups[group].size());
    }
    // Whether `number` gives rank i of group g.
    template<class Number>
    bool numbered(Number number) const {
        for (std::size_t g = 0; g < groups.size(); ++g)
            for (Position i = 0; i < size_of(g); ++i)
                if (groups[g][static_cast<std::size_t>(i)] != number(static_cast<Position>(g), i))
                    return false;
        return true;
    }
    // Neighbours share a host.
    bool blocked() const {
        Position next = 0;
        return numbered([&](Position, Position) { return next++; });
    }

    Groups groups;
    std::string_view intra;
    Choice inter;
    Position leaders = 1;
};

// The group of all positions, if hosts are alike: the product of a group inside each host and a
// group of hosts.
//
//   hosts 0 1 | 2 3 | 4 5, neighbours share one   digits host, rank   3 x 2
//   hosts 0 3 | 1 4 | 2 5, dealt out in turn      digits rank, host   2 x 3
std::optional<Group> symmetry(const Hierarchy &of, const std::optional<Group> &inside,
                              const std::optional<Group> &between) {
    const Position hosts = of.hosts(), size = of.size_of(0);
    if (!of.all_alike() || (size > 1 && !inside) || (hosts > 1 && !between))
        return asymmetric;
    std::vector<Position> rank, host;
    if (size > 1)
        rank = inside->orders();
    if (hosts > 1)
        host = between->orders();
    std::vector<Position> &outer = of.blocked() ? host : rank, &inner = of.blocked() ? rank : host;
    if (!of.blocked() && !of.numbered([&](Position g, Position i) { return i * hosts + g; }))
        return asymmetric;
    outer.insert(outer.end(), inner.begin(), inner.end());
    return Group(outer);
}

using Shared = std::shared_ptr<const Schedule>;

Shared shared(const Choice &choice, Position ranks, std::vector<std::uint64_t> shares = {}) {
    return std::make_shared<const Schedule>(make(choice, ranks, 0, std::move(shares)));
}

// Part j of the vector, cut by `inter`, numbered as seen from a host: so each host finds the block
// that it uses first at the same place.
Blocks blocks_of_part(Position part, const Schedule &inter, Position host, bool turned) {
    const Block cut = inter.blocks(), chunks = turned ? inter.ranks : 1, piece = cut / chunks;
    Blocks found;
    for (Position chunk = 0; chunk < chunks; ++chunk) {
        const Block first = (turned ? inter.symmetry->sum(host, chunk) : 0) * piece;
        for (Block k = 0; k < piece; ++k)
            found.push_back(part * cut + first + k);
    }
    return found;
}

Schedule make_hierarchical(const Problem &problem) {
    const Hierarchy of(problem);
    const Shared inter = shared(of.inter, of.hosts());
    // Schedules of hosts with as many ranks are the same.
    std::vector<std::pair<Shared, Shared>> halves(static_cast<std::size_t>(problem.ranks) + 1);
    for (std::size_t g = 0; g < of.groups.size(); ++g)
        if (auto &[down, up] = halves[of.groups[g].size()]; down == nullptr) {
            const Position size = of.size_of(g);
            down = shared(of.reduce_scatter(), size, of.shares(size));
            up = shared(of.allgather(size), size, of.shares(size));
        }
    const auto &[down, up] = halves[of.groups[0].size()];
    const bool alone = of.size_of(0) == 1, one = of.hosts() == 1;
    const bool same_group = down->symmetry == up->symmetry;
    const std::optional<Group> group =
        symmetry(of, same_group ? down->symmetry : asymmetric, inter->symmetry);
    const bool waits_alike = (alone || (alike_by_place(*down) && alike_by_place(*up))) &&
                             (one || alike_by_place(*inter));
    const bool turned = !one && group && waits_alike && inter->blocks() % inter->ranks == 0;
    const bool all_alike = waits_alike && (one || turned || inter->blocks() == 1);

    std::vector<Stage> stages(3);
    for (std::size_t g = 0; g < of.groups.size(); ++g) {
        const Position size = of.size_of(g);
        if (size == 1)
            continue;
        std::vector<Blocks> blocks(static_cast<std::size_t>(size));
        for (Position part = 0; part < of.leaders; ++part)
            blocks[static_cast<std::size_t>(part)] =
                blocks_of_part(part, *inter, static_cast<Position>(g), turned);
        const auto &[first, last] = halves[of.groups[g].size()];
        stages[0].push_back({first, of.groups[g], blocks});
        stages[2].push_back({last, of.groups[g], std::move(blocks)});
    }
    for (Position part = 0; part < (one ? 0 : of.leaders); ++part) {
        Part leaders{inter, {}, {}};
        for (const std::vector<Position> &host : of.groups)
            leaders.positions.push_back(host[static_cast<std::size_t>(part)]);
        for (Block b = 0; b < inter->blocks(); ++b)
            leaders.blocks.push_back({part * inter->blocks() + b});
        stages[1].push_back(std::move(leaders));
    }
    Schedule made =
        compose(Collective::allreduce, problem,
                Partition::even(of.leaders).refine(inter->partition), group, std::move(stages));
    return alike(std::move(made), all_alike);
}

std::string misfit(const Problem &problem) {
    const Hierarchy of(problem);
    if (const std::string why = algorithms::misfit(of.inter, of.between()); !why.empty())
        return "inter=" + std::string(of.inter.algorithm->name) + ", which " + why;
    return "";
}

// Whether the part inside each host and the part between hosts have a property.
template<Property Algorithm::*property>
bool have(const Hierarchy &of) {
    for (std::size_t g = 0; g < of.groups.size(); ++g)
        if (const Position size = of.size_of(g);
            size > 1 && !(of.reduce_scatter().algorithm->*property)(of.inside(size)))
            return false;
    return of.hosts() == 1 || (of.inter.algorithm->*property)(of.between());
}

bool order_preserving(const Problem &problem) {
    const Hierarchy of(problem);
    return of.blocked() && have<&Algorithm::order_preserving>(of);
}

bool consistent(const Problem &problem) {
    return have<&Algorithm::consistent>(Hierarchy(problem));
}

// The canonical tree cuts a range of ranks at the largest power of two below its size.  If all
// hosts except the last have 2^k ranks, and the last has at most 2^k, every cut of more than 2^k
// ranks lies between two hosts.
bool canonical(const Problem &problem) {
    const Hierarchy of(problem);
    const Position size = of.size_of(0);
    for (std::size_t g = 0; g < of.groups.size(); ++g) {
        const bool last = g + 1 == of.groups.size();
        if (last ? of.size_of(g) > size : of.size_of(g) != size || !power_of_two(size))
            return false;
    }
    return of.blocked() && have<&Algorithm::canonical>(of);
}

} // namespace

Algorithm allreduce::hierarchical() {
    return {
        .name = "hierarchical",
        .collective = Collective::allreduce,
        .summary = "reduce inside hosts, allreduce between leaders, gather inside hosts",
        .source = "Bayatpour et al. 2017 (DPML)",
        .parameters = {named("intra", kIntra, "inside a host: whose halves reduce and gather"),
                       named("inter", kInter, "between hosts: the allreduce of leaders"),
                       {.name = "leaders",
                        .fallback = 4096,
                        .least = 1,
                        .most = 4096,
                        .meaning = "ranks of a host that reduce a part each with other hosts; the "
                                   "smallest host may have fewer"},
                       named("level", kLevels, "the level at which ranks of a group are near")},
        .runs = always,
        .order_preserving = order_preserving,
        .consistent = consistent,
        .canonical = canonical,
        .make = make_hierarchical,
        .misfit = misfit,
        .of_hosts = true};
}

} // namespace stretto::algorithms
