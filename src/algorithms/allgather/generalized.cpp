// SPDX-License-Identifier: BSD-3-Clause
// Allgather by permutations: the distribution of the generalized allreduce (generalized.hpp).
//
// Source: Kolmakov & Zhang, "A generalization of the allreduce operation", 2020, section 7.
//
//   5 ranks, what 0 does    1 -> 2    0 to 4, 1 from 1
//                           2 -> 3    1 to 4, 2 from 1
//                           3 -> 5    1 2 to 3, 3 4 from 2
//
// Steps     ceil(log2 P), more with `width`: 1 is a ring
// Bytes     (P - 1) / P m sent by each, the least possible
// Good over a network.  No restrictions.  No scratch.
#include "algorithms/generalized.hpp"
#include "algorithms/catalog.hpp"

namespace stretto::algorithms {

Algorithm allgather::generalized() {
    return {.name = "generalized",
            .collective = Collective::allgather,
            .summary = "the blocks that a rank holds double by permutations of a group, for any P",
            .source = "Kolmakov & Zhang 2020",
            .parameters = {kGroup, kWidth},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make =
                [](const Problem &problem) {
                    Generalized of = algorithms::generalized(problem);
                    of.place_by_owner();
                    return alike(
                        assemble(Collective::allgather, problem, by_owner(problem), of.group(),
                                 [of](Ops &ops, Position p) { of.append_distribution(ops, p); }),
                        of.relative());
                },
            .unequal_shares = true,
            .misfit = generalized_misfit};
}

} // namespace stretto::algorithms
