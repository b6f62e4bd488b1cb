// SPDX-License-Identifier: BSD-3-Clause
// Direct: the owner of a block receives it from everybody, reduces it in one pass and sends the
// result to everybody.
//
// Source: direct reduce-scatter and allgather; Bayatpour et al., "SALaR: scalable and adaptive
// designs for large message reduction collectives", CLUSTER 2018 (its inter-node step).
//
//   block b   belongs to position b
//
//   3 ranks:   0 sends block 1 to 1, 2 to 2;  folds block 0 of 0 1 2;  sends it to 1, 2
//              1, 2 alike (reduce_scatter/direct.cpp, allgather/direct.cpp)
//
// Steps     2
// Messages  2 P (P - 1); everybody sends and receives 2 (P - 1) / P m bytes, the least possible
// Good in shared memory from some kilobytes on (two to three streams of memory per rank, where a
// ring has six), and when ranks are late, as nothing but the fold waits for them.  Any P.
// `direct_canonical` carries the canonical tree.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

template<Tree tree>
static Schedule make(const Problem &problem) {
    return alike_by_owner(assemble(Collective::allreduce, problem, Partition::even(problem.ranks),
                                   Group::cyclic(problem.ranks),
                                   [ranks = problem.ranks](Ops &ops, Position p) {
                                       append_direct_reduce_scatter(ops, p, ranks, tree);
                                       append_direct_allgather(ops, p, ranks, 1);
                                   }),
                          tree == Tree::chain);
}

Algorithm allreduce::direct() {
    return {.name = "direct",
            .collective = Collective::allreduce,
            .summary = "the owner of a block reduces it in one pass and sends it to all",
            .source = "Bayatpour et al. 2018 (SALaR)",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = up_to<3>,
            .make = make<Tree::chain>};
}

Algorithm allreduce::direct_canonical() {
    Algorithm algorithm = direct();
    algorithm.name = "direct_canonical";
    algorithm.summary = "direct, reduced as the canonical tree";
    algorithm.canonical = always;
    algorithm.make = make<Tree::canonical>;
    return algorithm;
}

} // namespace stretto::algorithms
