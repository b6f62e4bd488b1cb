// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical broadcast: inside the root's host, between hosts, inside the other hosts.
//
// Source: the multi-leader composition of Bayatpour et al. (DPML, SC 2017), for a broadcast.
//
//   leaders   the first L ranks of each host, L at most what the smallest host has
//   part j    1 / L of the vector: leader j of the root's host passes it on to the leaders j of
//             the other hosts
//
//   hosts 0 1 | 2 3, leaders 2, root 1    1 gives 0 the vector
//                                         0 passes one half on to 2, 1 the other to 3
//                                         2 and 3 exchange their halves
//
// Between hosts it runs any broadcast (`inter`), inside the other hosts the gathering half of an
// allreduce (`intra`).
//
// Steps     1, those of `inter`, and those of the allgather
// Bytes     between hosts what `inter` sends of the whole vector, whatever L is
// Good where hosts have several ranks and a network between them is slower than their memory.
#include <array>
#include <string>
#include <utility>

#include "algorithms/catalog.hpp"
#include "algorithms/over_hosts.hpp"

namespace stretto::algorithms {

namespace {

constexpr std::array<std::string_view, 5> kInter = {"binomial", "chain", "linear", "generalized",
                                                    "scatter_allgather"};

OverHosts over(const Problem &problem) {
    return {Collective::broadcast, problem, kInter};
}

Schedule make_broadcast(const Problem &problem) {
    const OverHosts of = over(problem);
    const Position home = of.host_of(problem.root);
    const auto inter = shared(of.inter(), of.hosts(), home);
    const Block cut = inter->blocks();
    std::vector<Stage> stages(3);
    if (const Position size = of.size_of(home); size > 1)
        stages[0].push_back(
            {shared({&find(Collective::broadcast, "linear"), {}}, size, of.place_of(problem.root)),
             of.host(home),
             {consecutive(0, of.leaders() * cut)}});
    stages[1] = between_leaders(of, inter);
    for (Position host = 0; host < of.hosts(); ++host)
        if (const Position size = of.size_of(host); size > 1 && host != home)
            stages[2].push_back({shared(of.allgather(size), size, 0, of.shares(size)),
                                 of.host(host), blocks_by_leader(size, of.leaders(), cut)});
    return compose(Collective::broadcast, problem,
                   Partition::even(of.leaders()).refine(inter->partition), asymmetric,
                   std::move(stages));
}

} // namespace

Algorithm broadcast::hierarchical() {
    return {.name = "hierarchical",
            .collective = Collective::broadcast,
            .summary = "inside the root's host, between leaders, inside the other hosts",
            .source = "Bayatpour et al. 2017 (DPML), for a broadcast",
            .parameters = {intra_parameter("inside other hosts: whose gathering half distributes"),
                           inter_parameter(kInter, "between hosts: the broadcast of leaders"),
                           leaders_parameter(), level_parameter()},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = make_broadcast,
            .misfit = [](const Problem &problem) { return over(problem).misfit(); },
            .of_hosts = true};
}

} // namespace stretto::algorithms
