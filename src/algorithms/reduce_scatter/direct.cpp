// SPDX-License-Identifier: BSD-3-Clause
// Direct reduce-scatter: the owner of a block receives it from everybody and reduces it at once.
//
// Source: pairwise exchange in one phase; as the first half of SALaR's inter-node step, Bayatpour
// et al., CLUSTER 2018.
//
//   block b   belongs to position b
//
//   3 ranks:   0 sends block 1 to 1, block 2 to 2;  receives block 0 of 2, 1;  folds 0 1 2
//              1 sends block 2 to 2, block 0 to 0;  receives block 1 of 0, 2;  folds 0 1 2
//              2 sends block 0 to 0, block 1 to 1;  receives block 2 of 1, 0;  folds 0 1 2
//
// The fold is one n-ary pass over P operands: P + 1 streams of memory where pairwise reductions
// cost 3 (P - 1).  `direct_canonical` brackets it as the canonical tree instead, in about P / 2
// passes, and so gives the same bits as every other algorithm that carries this tree.
//
// Steps     1
// Messages  P (P - 1); everybody sends and receives (P - 1) / P m bytes, the least possible
// Good in shared memory, for long vectors, and when ranks are late: the contributions of the others
// are on their way meanwhile.  Any P.  Scratch: P - 1 blocks, which an engine that reads the peers'
// memory does not need.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

void append_direct_reduce_scatter(Ops &ops, Position position, Position ranks, Tree tree,
                                  Lane lane) {
    for (Position ahead = 1; ahead < ranks; ++ahead) {
        const Position owner = shifted(position, ahead, ranks);
        ops.push_back(schedule::send(owner, {owner}, kWork, lane));
    }
    append_collect(ops, position, ranks, position, tree, lane);
}

template<Tree tree>
static Schedule make(const Problem &problem) {
    return alike_by_owner(assemble(Collective::reduce_scatter, problem, by_owner(problem),
                                   Group::cyclic(problem.ranks),
                                   [ranks = problem.ranks](Ops &ops, Position p) {
                                       append_direct_reduce_scatter(ops, p, ranks, tree);
                                   }),
                          tree == Tree::chain);
}

Algorithm reduce_scatter::direct() {
    return {.name = "direct",
            .collective = Collective::reduce_scatter,
            .summary = "the owner of a block reduces it in one pass over all ranks",
            .source = "pairwise exchange; Bayatpour et al. 2018 (SALaR)",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = up_to<3>,
            .make = make<Tree::chain>,
            .unequal_shares = true};
}

Algorithm reduce_scatter::direct_canonical() {
    Algorithm algorithm = direct();
    algorithm.name = "direct_canonical";
    algorithm.summary = "direct, reduced as the canonical tree";
    algorithm.canonical = always;
    algorithm.make = make<Tree::canonical>;
    return algorithm;
}

} // namespace stretto::algorithms
