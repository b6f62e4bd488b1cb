// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical allgather: inside each host, between hosts, then inside each host what came.
//
// Source: the multi-leader composition of Bayatpour et al. (DPML, SC 2017), for an allgather.
//
//   block b   belongs to position b
//   leaders   the first L ranks of each host, L at most what the smallest host has
//   class j   of a host: its ranks j, j + L, j + 2 L ...; leader j stands for them
//
//   hosts 0 1 2 | 3 4, leaders 2    0 1 2 exchange their blocks; 3 4 alike
//                                   0 and 3 exchange blocks 0 2 and 3; 1 and 4 blocks 1 and 4
//                                   0 gives block 3 to 1 and 2, 1 gives block 4 to 0 and 2
//                                   3 gives blocks 0 2 to 4, 4 gives block 1 to 3
//
// Inside hosts it runs an allgather (`intra`: that half of an allreduce), between hosts any
// (`inter`).  No rank receives a block twice.
//
// Steps     those of the three stages, one after the other
// Bytes     between hosts what `inter` sends among so many ranks, whatever L is
// Good where hosts have several ranks and a network between them is slower than their memory.
#include <array>
#include <string>
#include <utility>

#include "algorithms/catalog.hpp"
#include "algorithms/over_hosts.hpp"

namespace stretto::algorithms {

namespace {

constexpr std::array<std::string_view, 5> kInter = {"ring", "circulant", "direct", "bruck",
                                                    "generalized"};

OverHosts over(const Problem &problem) {
    return {Collective::allgather, problem, kInter};
}

Schedule make_allgather(const Problem &problem) {
    const OverHosts of = over(problem);
    std::vector<Stage> stages(3);
    for (Position host = 0; host < of.hosts(); ++host)
        if (const Position size = of.size_of(host); size > 1) {
            std::vector<Blocks> own, came(static_cast<std::size_t>(size));
            for (const Position rank : of.host(host))
                own.push_back({rank});
            for (Position leader = 0; leader < of.leaders(); ++leader)
                for (Position other = 0; other < of.hosts(); ++other)
                    if (other != host)
                        for (const Block block : of.class_of(other, leader))
                            came[static_cast<std::size_t>(leader)].push_back(block);
            stages[0].push_back({shared(of.allgather(size), size), of.host(host), std::move(own)});
            stages[2].push_back({shared(of.allgather(size), size, 0, of.shares(size)),
                                 of.host(host), std::move(came)});
        }
    if (of.hosts() > 1)
        stages[1] = between_classes(of, shared(of.inter(), of.hosts()));
    return compose(Collective::allgather, problem, by_owner(problem), asymmetric,
                   std::move(stages));
}

} // namespace

Algorithm allgather::hierarchical() {
    return {.name = "hierarchical",
            .collective = Collective::allgather,
            .summary = "inside hosts, between leaders, then what came inside hosts",
            .source = "Bayatpour et al. 2017 (DPML), for an allgather",
            .parameters = {intra_parameter("inside a host: whose gathering half distributes"),
                           inter_parameter(kInter, "between hosts: the allgather of leaders"),
                           leaders_parameter(), level_parameter()},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = make_allgather,
            .unequal_shares = true,
            .misfit = [](const Problem &problem) { return over(problem).misfit(); },
            .of_hosts = true};
}

} // namespace stretto::algorithms
