// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical reduce-scatter: inside each host, between hosts, then each rank's block inside
// hosts.
//
// Source: the multi-leader composition of Bayatpour et al. (DPML, SC 2017), for a reduce-scatter.
//
//   block b   belongs to position b
//   leaders   the first L ranks of each host, L at most what the smallest host has
//   class j   of a host: its ranks j, j + L, j + 2 L ...; leader j stands for them
//
//   hosts 0 1 2 | 3 4, leaders 2    0 reduces blocks 0 2 3 of 0 1 2, 1 blocks 1 4; 3, 4 alike
//                                   0 gives block 3 to 3, 3 blocks 0 2 to 0; 1 and 4 alike
//                                   0 gives block 2 to 2
//
// Inside hosts it runs a reduce-scatter (`intra`), between hosts any (`inter`).
//
// Steps     those of the first two stages, and 1
// Bytes     between hosts what `inter` sends among so many ranks, whatever L is
// Good where hosts have several ranks and a network between them is slower than their memory.
// Operands stay in order where the ranks of a host are neighbours and both algorithms keep them.
#include <array>
#include <string>
#include <utility>

#include "algorithms/catalog.hpp"
#include "algorithms/over_hosts.hpp"

namespace stretto::algorithms {

namespace {

constexpr std::array<std::string_view, 7> kInter = {
    "ring", "circulant", "direct", "direct_canonical", "bruck", "generalized", "recursive_halving"};

OverHosts over(const Problem &problem) {
    return {Collective::reduce_scatter, problem, kInter};
}

Schedule make_reduce_scatter(const Problem &problem) {
    const OverHosts of = over(problem);
    std::vector<Stage> stages(3);
    for (Position host = 0; host < of.hosts(); ++host) {
        const Position size = of.size_of(host);
        if (size == 1)
            continue;
        std::vector<Blocks> by_leader(static_cast<std::size_t>(size));
        for (Position leader = 0; leader < of.leaders(); ++leader) {
            for (Position other = 0; other < of.hosts(); ++other)
                for (const Block block : of.class_of(other, leader))
                    by_leader[static_cast<std::size_t>(leader)].push_back(block);
            const Blocks own = of.class_of(host, leader);
            std::vector<Blocks> one_each;
            for (const Block block : own)
                one_each.push_back({block});
            if (own.size() > 1)
                stages[2].push_back({shared({&find(Collective::scatter, "linear"), {}},
                                            static_cast<Position>(own.size())),
                                     own, std::move(one_each)});
        }
        stages[0].push_back({shared(of.reduce_scatter(), size, 0, of.shares(size)), of.host(host),
                             std::move(by_leader)});
    }
    if (of.hosts() > 1)
        stages[1] = between_classes(of, shared(of.inter(), of.hosts()));
    return compose(Collective::reduce_scatter, problem, by_owner(problem), asymmetric,
                   std::move(stages));
}

bool order_preserving(const Problem &problem) {
    const OverHosts of = over(problem);
    return of.blocked() && of.have<&Algorithm::order_preserving>();
}

bool canonical(const Problem &problem) {
    const OverHosts of = over(problem);
    return of.cut_as_canonical() && of.blocked() && of.have<&Algorithm::canonical>();
}

} // namespace

Algorithm reduce_scatter::hierarchical() {
    return {.name = "hierarchical",
            .collective = Collective::reduce_scatter,
            .summary = "inside hosts, between leaders, then each rank's block inside hosts",
            .source = "Bayatpour et al. 2017 (DPML), for a reduce-scatter",
            .parameters = {intra_parameter("inside a host: whose reducing half reduces"),
                           inter_parameter(kInter, "between hosts: the reduce-scatter of leaders"),
                           leaders_parameter(), level_parameter()},
            .runs = always,
            .order_preserving = order_preserving,
            .consistent = always,
            .canonical = canonical,
            .make = make_reduce_scatter,
            .unequal_shares = true,
            .misfit = [](const Problem &problem) { return over(problem).misfit(); },
            .of_hosts = true};
}

} // namespace stretto::algorithms
