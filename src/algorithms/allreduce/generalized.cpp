// SPDX-License-Identifier: BSD-3-Clause
// The generalized allreduce (generalized.hpp): any number of steps from ceil(log2 P) to 2 (P - 1),
// chosen to suit the size of the vector.
//
// Source: Kolmakov & Zhang, "A generalization of the allreduce operation", 2020, sections 7 to 9.
//
//   r = 0            2 ceil(log2 P) steps, 2 (P - 1) blocks sent by each: the fewest bytes
//   r                r steps less, 2 (P - 1) + (M - 1) (d - 1) blocks (M: P halved d - r times)
//   r = d            d = ceil(log2 P) steps of the whole vector: the fewest steps
//   width = w        at most w blocks in a message; bytes as r = 0
//
//   P = 7, the cyclic group      r = 0      r = 1      r = 2      r = 3 = d
//   steps                        6          5          4          3
//   blocks sent                  12         14         18         21
//
// Special cases: ring (width=1), and with a group of twos rabenseifner (r=0), hybrid, and
// recursive_doubling (r = d).
//
// Which ranks end with the same bits: all with r = 0, as a block is reduced once.  With r > 0 each
// of M ranks reduces it by itself.  They bracket alike where every factor whose steps are saved is
// a power of two, or a 3 that is saved whole (which is reduced in one agreed order, at the same
// cost): so P = 2^a 3^b c has a + 2 b steps to save.  For the others the verifier finds different
// trees, which floating-point sums round differently.
//
// Good over a network where P is no power of two, and for vectors that are neither short nor long.
// Commutative operations only, but for groups of twos and saved threes.  Scratch for r > 0.
#include "algorithms/generalized.hpp"
#include "algorithms/catalog.hpp"

namespace stretto::algorithms {

namespace {

bool agreed_order(const Generalized &of, std::size_t factor) {
    return of.group().order(factor) == 3 && of.whole(factor);
}

bool consistent(const Problem &problem) {
    const Generalized of = generalized(problem);
    for (std::size_t f = 0; f < of.group().factors(); ++f)
        if (of.kept(f) > 1 && !power_of_two(of.group().order(f)) && !agreed_order(of, f))
            return false;
    return true;
}

// Sums are of consecutive ranges of positions.
bool order_preserving(const Problem &problem) {
    const Generalized of = generalized(problem);
    for (std::size_t f = 0; f < of.group().factors(); ++f)
        if (of.group().order(f) > 2 && !agreed_order(of, f))
            return false;
    return true;
}

// The canonical tree splits at powers of two: 12 into 8 and 4, as 3 x 2 x 2 does in its last step.
bool canonical(const Problem &problem) {
    const Generalized of = generalized(problem);
    for (std::size_t f = 1; f < of.group().factors(); ++f)
        if (of.group().order(f) > 2)
            return false;
    return order_preserving(problem);
}

} // namespace

Algorithm allreduce::generalized() {
    return {.name = "generalized",
            .collective = Collective::allreduce,
            .summary = "any P in any number of steps: from the fewest to the fewest bytes",
            .source = "Kolmakov & Zhang 2020",
            .parameters = {kSkipped, kGroup, kWidth},
            .runs = always,
            .order_preserving = order_preserving,
            .consistent = consistent,
            .canonical = canonical,
            .make =
                [](const Problem &problem) {
                    const Generalized of = algorithms::generalized(problem);
                    return alike(assemble(Collective::allreduce, problem,
                                          Partition::even(of.blocks()), of.group(),
                                          [of](Ops &ops, Position p) {
                                              of.append_reduction(ops, p);
                                              of.append_distribution(ops, p, 1);
                                          }),
                                 of.relative());
                },
            .misfit = generalized_misfit};
}

} // namespace stretto::algorithms
