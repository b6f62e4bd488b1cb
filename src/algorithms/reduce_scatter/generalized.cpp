// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by permutations: the reduction of the generalized allreduce (generalized.hpp).
//
// Source: Kolmakov & Zhang, "A generalization of the allreduce operation", 2020, section 7.
//
//   5 ranks, what 0 does    5 -> 3    3 4 to 2, 1 2 from 3
//                           3 -> 2    2 to 1,   1 from 4
//                           2 -> 1    1 to 1,   0 from 4
//
// Steps     ceil(log2 P), more with `width`: 1 is a ring
// Bytes     (P - 1) / P m sent by each, the least possible
// Good over a network.  Commutative operations only, but for groups of twos.  No scratch.
#include "algorithms/generalized.hpp"
#include "algorithms/catalog.hpp"

namespace stretto::algorithms {

// Sums are of consecutive ranges of positions: the halves into which the canonical tree splits.
static bool of_twos(const Problem &problem) {
    const Group group = generalized(problem).group();
    for (std::size_t f = 0; f < group.factors(); ++f)
        if (group.order(f) > 2)
            return false;
    return true;
}

Algorithm reduce_scatter::generalized() {
    return {.name = "generalized",
            .collective = Collective::reduce_scatter,
            .summary = "halve the remaining blocks by permutations of a group, for any P",
            .source = "Kolmakov & Zhang 2020",
            .parameters = {kGroup, kWidth},
            .runs = always,
            .order_preserving = of_twos,
            .consistent = always,
            .canonical = of_twos,
            .make =
                [](const Problem &problem) {
                    Generalized of = algorithms::generalized(problem);
                    of.place_by_owner();
                    return alike(
                        assemble(Collective::reduce_scatter, problem, by_owner(problem), of.group(),
                                 [of](Ops &ops, Position p) { of.append_reduction(ops, p); }),
                        of.relative());
                },
            .unequal_shares = true,
            .misfit = generalized_misfit};
}

} // namespace stretto::algorithms
