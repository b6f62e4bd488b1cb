// SPDX-License-Identifier: BSD-3-Clause
// Hierarchical reduce: inside each host, between hosts, inside the root's host.
//
// Source: the multi-leader composition of Bayatpour et al. (DPML, SC 2017), for a reduce.
//
//   leaders   the first L ranks of each host, L at most what the smallest host has
//   part j    1 / L of the vector: leader j of each host reduces it inside the host, then all of
//             them reduce it to leader j of the root's host, which gives it to the root
//
//   hosts 0 1 | 2 3, leaders 2, root 1    0 reduces half the vector of 0 1, 1 the other; 2, 3 alike
//                                         2 gives its half to 0, 3 gives its half to 1
//                                         0 gives its half to 1
//
// Inside hosts it runs the reducing half of an allreduce (`intra`), between hosts any reduce
// (`inter`).  With one leader the first stage is a reduce.
//
// Steps     those of the reduce-scatter, those of `inter`, and 1
// Bytes     between hosts what `inter` sends of the whole vector, whatever L is
// Good where hosts have several ranks and a network between them is slower than their memory.
// Operands stay in order where the ranks of a host are neighbours and both algorithms keep them.
#include <array>
#include <string>
#include <utility>

#include "algorithms/catalog.hpp"
#include "algorithms/over_hosts.hpp"

namespace stretto::algorithms {

namespace {

constexpr std::array<std::string_view, 6> kInter = {
    "binomial", "chain", "linear", "direct", "direct_canonical", "generalized"};

OverHosts over(const Problem &problem) {
    return {Collective::reduce, problem, kInter};
}

Schedule make_reduce(const Problem &problem) {
    const OverHosts of = over(problem);
    const Position home = of.host_of(problem.root);
    const auto inter = shared(of.inter(), of.hosts(), home);
    const Block cut = inter->blocks();
    std::vector<Stage> stages(3);
    for (Position host = 0; host < of.hosts(); ++host)
        if (const Position size = of.size_of(host); size > 1)
            stages[0].push_back({shared(of.reduce_scatter(), size, 0, of.shares(size)),
                                 of.host(host), blocks_by_leader(size, of.leaders(), cut)});
    stages[1] = between_leaders(of, inter);
    if (const Position size = of.size_of(home); size > 1)
        stages[2].push_back({shared({&find(Collective::gather, "linear"), {}}, size,
                                    of.place_of(problem.root), of.shares(size)),
                             of.host(home), blocks_by_leader(size, of.leaders(), cut)});
    return compose(Collective::reduce, problem,
                   Partition::even(of.leaders()).refine(inter->partition), asymmetric,
                   std::move(stages));
}

bool order_preserving(const Problem &problem) {
    const OverHosts of = over(problem);
    return of.blocked() && of.have<&Algorithm::order_preserving>(of.host_of(problem.root));
}

bool canonical(const Problem &problem) {
    const OverHosts of = over(problem);
    return of.cut_as_canonical() && of.blocked() &&
           of.have<&Algorithm::canonical>(of.host_of(problem.root));
}

} // namespace

Algorithm reduce::hierarchical() {
    return {.name = "hierarchical",
            .collective = Collective::reduce,
            .summary = "inside hosts, between leaders, to the root",
            .source = "Bayatpour et al. 2017 (DPML), for a reduce",
            .parameters = {intra_parameter("inside a host: whose reducing half reduces"),
                           inter_parameter(kInter, "between hosts: the reduce of leaders"),
                           leaders_parameter(), level_parameter()},
            .runs = always,
            .order_preserving = order_preserving,
            .consistent = always,
            .canonical = canonical,
            .make = make_reduce,
            .misfit = [](const Problem &problem) { return over(problem).misfit(); },
            .of_hosts = true};
}

} // namespace stretto::algorithms
