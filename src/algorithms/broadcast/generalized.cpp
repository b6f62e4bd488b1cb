// SPDX-License-Identifier: BSD-3-Clause
// Broadcast by permutations: the distribution of the generalized allreduce (generalized.hpp),
// restricted to the block of the root, which is here the whole vector.
//
// Source: Kolmakov & Zhang, "A generalization of the allreduce operation", 2020, section 7.
//
//   5 ranks, root 0: position p has the vector as cell -p
//   1 -> 2    0 to 4
//   2 -> 3    4 to 3
//   3 -> 5    3 to 1, 4 to 2
//
// Steps     ceil(log2 P), more with `width`: 1 is a chain
// Messages  P - 1 of m bytes; the root sends one in each step
// Good over a network.  The group describes which ranks are near one another: 4x8 is a tree over 4
// hosts, then one over the 8 ranks of each.  No restrictions.  No scratch.
#include "algorithms/generalized.hpp"
#include "algorithms/catalog.hpp"

namespace stretto::algorithms {

static void append(Ops &ops, const Generalized &of, Position position, Position root) {
    for (const Hop &hop : of.hops(position, root))
        if (position == hop.parent)
            ops.push_back(schedule::send(hop.child, {0}));
        else
            ops.push_back(schedule::recv(hop.parent, {0}));
}

Algorithm broadcast::generalized() {
    return {.name = "generalized",
            .collective = Collective::broadcast,
            .summary = "down a tree along permutations of a group",
            .source = "Kolmakov & Zhang 2020",
            .parameters = {kGroup, kWidth},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    const Generalized of = algorithms::generalized(problem);
                    return assemble(Collective::broadcast, problem, Partition::even(1), asymmetric,
                                    [of, root = problem.root](Ops &ops, Position p) {
                                        append(ops, of, p, root);
                                    });
                },
            .misfit = generalized_misfit};
}

} // namespace stretto::algorithms
