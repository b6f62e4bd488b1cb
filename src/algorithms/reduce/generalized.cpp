// SPDX-License-Identifier: BSD-3-Clause
// Reduce by permutations: the reduction of the generalized allreduce (generalized.hpp), restricted
// to the block of the root, which is here the whole vector.
//
// Source: Kolmakov & Zhang, "A generalization of the allreduce operation", 2020, section 7.
//
//   5 ranks, root 0: position p has the vector as cell -p
//   5 -> 3    1 and 2 to 3 and 4 (cells 4 and 3 become 2 and 1)
//   3 -> 2    3 to 4
//   2 -> 1    4 to 0
//
// Steps     ceil(log2 P), more with `width`: 1 is a chain
// Messages  P - 1 of m bytes; the root receives one in each step
// Good over a network.  The group describes which ranks are near one another: 4x8 is a tree over 4
// hosts, then one over the 8 ranks of each (which go first).  Commutative operations only (P > 2).
// No scratch.

#include "algorithms/generalized.hpp"
#include "algorithms/catalog.hpp"
#include "base/reversed.hpp"

namespace stretto::algorithms {

static void append(Ops &ops, const Generalized &of, Position position, Position root) {
    for (const Hop &hop : reversed(of.hops(position, root)))
        if (position == hop.parent)
            ops.push_back(schedule::recv_reduce(hop.child, {0}, side_of(hop.child, position)));
        else
            ops.push_back(schedule::send(hop.parent, {0}));
}

Algorithm reduce::generalized() {
    return {.name = "generalized",
            .collective = Collective::reduce,
            .summary = "up a tree along permutations of a group",
            .source = "Kolmakov & Zhang 2020",
            .parameters = {kGroup, kWidth},
            .runs = always,
            .order_preserving = up_to<2>,
            .consistent = always,
            .canonical = up_to<2>,
            .make =
                [](const Problem &problem) {
                    const Generalized of = algorithms::generalized(problem);
                    return assemble(Collective::reduce, problem, Partition::even(1), asymmetric,
                                    [of, root = problem.root](Ops &ops, Position p) {
                                        append(ops, of, p, root);
                                    });
                },
            .misfit = generalized_misfit};
}

} // namespace stretto::algorithms
