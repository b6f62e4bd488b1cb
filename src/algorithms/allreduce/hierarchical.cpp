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
#include "algorithms/over_hosts.hpp"

namespace stretto::algorithms {

namespace {

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

OverHosts over(const Problem &problem) {
    return {Collective::allreduce, problem, kInter};
}

bool uniform(const OverHosts &of) {
    return std::ranges::all_of(of.groups(), [&](const std::vector<Position> &group) {
        return group.size() == of.groups()[0].size();
    });
}

// Ranks are dealt out in turn: rank i of host g is i times the number of hosts, plus g.
bool dealt_out(const OverHosts &of) {
    for (Position g = 0; g < of.hosts(); ++g)
        for (Position i = 0; i < of.size_of(g); ++i)
            if (of.host(g)[static_cast<std::size_t>(i)] != i * of.hosts() + g)
                return false;
    return true;
}

// The group of all positions, if hosts are alike: the product of a group inside each host and a
// group of hosts.
//
//   hosts 0 1 | 2 3 | 4 5, neighbours share one   digits host, rank   3 x 2
//   hosts 0 3 | 1 4 | 2 5, dealt out in turn      digits rank, host   2 x 3
std::optional<Group> symmetry(const OverHosts &of, const std::optional<Group> &inside,
                              const std::optional<Group> &between) {
    const Position hosts = of.hosts(), size = of.size_of(0);
    if (!uniform(of) || of.leaders() != size || (size > 1 && !inside) || (hosts > 1 && !between))
        return asymmetric;
    std::vector<Position> rank, host;
    if (size > 1)
        rank = inside->orders();
    if (hosts > 1)
        host = between->orders();
    std::vector<Position> &outer = of.blocked() ? host : rank, &inner = of.blocked() ? rank : host;
    if (!of.blocked() && !dealt_out(of))
        return asymmetric;
    outer.insert(outer.end(), inner.begin(), inner.end());
    return Group(outer);
}

using Shared = std::shared_ptr<const Schedule>;

// Part j of the vector, cut by `inter`, numbered as seen from a host: so each host finds the block
// that it uses first at the same place.
Blocks blocks_seen_from(Position host, Position part, const Schedule &inter, bool turned) {
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
    const OverHosts of = over(problem);
    const Shared inter = shared(of.inter(), of.hosts());
    // Schedules of hosts with as many ranks are the same.
    std::vector<std::pair<Shared, Shared>> halves(static_cast<std::size_t>(problem.ranks) + 1);
    for (Position host = 0; host < of.hosts(); ++host)
        if (auto &[down, up] = halves[of.host(host).size()]; down == nullptr) {
            const Position size = of.size_of(host);
            down = shared(of.reduce_scatter(), size, 0, of.shares(size));
            up = shared(of.allgather(size), size, 0, of.shares(size));
        }
    const auto &[down, up] = halves[of.host(0).size()];
    const bool alone = of.size_of(0) == 1, one = of.hosts() == 1;
    const bool same_group = down->symmetry == up->symmetry;
    const std::optional<Group> group =
        symmetry(of, same_group ? down->symmetry : asymmetric, inter->symmetry);
    const bool waits_alike = (alone || (alike_by_place(*down) && alike_by_place(*up))) &&
                             (one || alike_by_place(*inter));
    const bool turned = !one && group && waits_alike && inter->blocks() % inter->ranks == 0;
    const bool all_alike = waits_alike && (one || turned || inter->blocks() == 1);

    std::vector<Stage> stages(3);
    for (Position host = 0; host < of.hosts(); ++host) {
        const Position size = of.size_of(host);
        if (size == 1)
            continue;
        std::vector<Blocks> blocks(static_cast<std::size_t>(size));
        for (Position part = 0; part < of.leaders(); ++part)
            blocks[static_cast<std::size_t>(part)] = blocks_seen_from(host, part, *inter, turned);
        const auto &[first, last] = halves[of.host(host).size()];
        stages[0].push_back({first, of.host(host), blocks});
        stages[2].push_back({last, of.host(host), std::move(blocks)});
    }
    stages[1] = between_leaders(of, inter);
    Schedule made =
        compose(Collective::allreduce, problem,
                Partition::even(of.leaders()).refine(inter->partition), group, std::move(stages));
    return alike(std::move(made), all_alike);
}

bool order_preserving(const Problem &problem) {
    const OverHosts of = over(problem);
    return of.blocked() && of.have<&Algorithm::order_preserving>();
}

bool consistent(const Problem &problem) {
    return over(problem).have<&Algorithm::consistent>();
}

bool canonical(const Problem &problem) {
    const OverHosts of = over(problem);
    return of.cut_as_canonical() && of.blocked() && of.have<&Algorithm::canonical>();
}

} // namespace

Algorithm allreduce::hierarchical() {
    return {.name = "hierarchical",
            .collective = Collective::allreduce,
            .summary = "reduce inside hosts, allreduce between leaders, gather inside hosts",
            .source = "Bayatpour et al. 2017 (DPML)",
            .parameters = {intra_parameter("inside a host: whose halves reduce and gather"),
                           inter_parameter(kInter, "between hosts: the allreduce of leaders"),
                           leaders_parameter(), level_parameter()},
            .runs = always,
            .order_preserving = order_preserving,
            .consistent = consistent,
            .canonical = canonical,
            .make = make_hierarchical,
            .misfit = [](const Problem &problem) { return over(problem).misfit(); },
            .of_hosts = true};
}

} // namespace stretto::algorithms
