// SPDX-License-Identifier: BSD-3-Clause
// One-shot: everybody sends its whole vector to everybody and reduces all of them by itself.
//
// Source: folklore (all-to-all broadcast and local reduction).
//
//   3 ranks:   0, 1, 2 each send to the two others and fold 0 1 2, all the same way
//
// All fold in the order of positions, so all get the same bits.  `one_shot_canonical` brackets the
// fold as the canonical tree.
//
// Steps     1
// Messages  P (P - 1) of m bytes; everybody sends and receives (P - 1) m
// Good for the smallest vectors: no allreduce has fewer steps.  In shared memory the sends of a
// position are one cell that all read.  Any P.  Scratch: P - 1 vectors, which an engine that reads
// the peers' memory does not need.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

template<Tree tree>
static Schedule make(const Problem &problem) {
    return alike_by_owner(
        assemble(Collective::allreduce, problem, Partition::even(1), Group::cyclic(problem.ranks),
                 [ranks = problem.ranks](Ops &ops, Position p) {
                     for (Position ahead = 1; ahead < ranks; ++ahead)
                         ops.push_back(schedule::send(shifted(p, ahead, ranks), {0}));
                     append_collect(ops, p, ranks, 0, tree);
                 }),
        tree == Tree::chain);
}

Algorithm allreduce::one_shot() {
    return {.name = "one_shot",
            .collective = Collective::allreduce,
            .summary = "each rank sends to all ranks, and each reduces by itself",
            .source = "folklore",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = up_to<3>,
            .make = make<Tree::chain>};
}

Algorithm allreduce::one_shot_canonical() {
    Algorithm algorithm = one_shot();
    algorithm.name = "one_shot_canonical";
    algorithm.summary = "one_shot, reduced as the canonical tree";
    algorithm.canonical = always;
    algorithm.make = make<Tree::canonical>;
    return algorithm;
}

} // namespace stretto::algorithms
