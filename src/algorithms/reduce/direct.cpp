// SPDX-License-Identifier: BSD-3-Clause
// Direct reduce: every position reduces a block in one pass over all, the root collects the blocks.
//
// Source: direct reduce-scatter, then a gather.
//
//   block b   belongs to position b
//
//   3 ranks, root 1:   0 sends block 1 to 1, 2 to 2;  folds block 0 of 0 1 2;  sends it to 1
//                      1 sends block 2 to 2, 0 to 0;  folds block 1;  receives 2 of 2, 0 of 0
//                      2 sends block 0 to 0, 1 to 1;  folds block 2;  sends it to 1
//
// Steps     2
// Messages  P (P - 1) + P - 1; everybody but the root sends m bytes, the root (P - 1) / P m
// Good in shared memory from some kilobytes on: all ranks reduce where in `linear` the root does it
// alone.  Any P.  Scratch: P - 1 blocks.  `direct_canonical` carries the canonical tree.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

template<Tree tree>
static Schedule make(const Problem &problem) {
    return assemble(Collective::reduce, problem, Partition::even(problem.ranks), asymmetric,
                    [ranks = problem.ranks, root = problem.root](Ops &ops, Position p) {
                        append_direct_reduce_scatter(ops, p, ranks, tree);
                        append_linear_gather(ops, p, ranks, root, 1);
                    });
}

Algorithm reduce::direct() {
    return {.name = "direct",
            .collective = Collective::reduce,
            .summary = "every rank reduces a block in one pass, the root collects them",
            .source = "direct reduce-scatter and gather",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = up_to<3>,
            .make = make<Tree::chain>};
}

Algorithm reduce::direct_canonical() {
    Algorithm algorithm = direct();
    algorithm.name = "direct_canonical";
    algorithm.summary = "direct, reduced as the canonical tree";
    algorithm.canonical = always;
    algorithm.make = make<Tree::canonical>;
    return algorithm;
}

} // namespace stretto::algorithms
