// SPDX-License-Identifier: BSD-3-Clause
// Reduce by permutations: what the reduction of the generalized allreduce (generalized.hpp)
// does with the block of the root, here the whole vector.
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
// Good over a network, where a group says who is near: 4x8 is a tree over 4 hosts, then one over 8
// ranks of each (which go first).  Commutative operations only (P > 2).  No scratch.
#include "algorithms/generalized.hpp"
#include "algorithms/catalog.hpp"

namespace stretto::algorithms {

static void append(Ops &ops, const Generalized &of, Position position, Position root) {
    const Group &group = of.group();
    const auto cell = [&](std::size_t factor) {
        const Position n = group.order(factor);
        return (group.digit(root, factor) - group.digit(position, factor) + n) % n;
    };
    for (const auto [f, from, to] : of.descents()) {
        bool there = true; // digits behind this factor are reduced
        for (std::size_t behind = f + 1; behind < group.factors(); ++behind)
            there = there && cell(behind) == 0;
        const Position moved = from - to, x = cell(f);
        if (there && to <= x && x < from)
            ops.push_back(schedule::send(group.moved(position, f, moved), {0}));
        else if (there && to - moved <= x && x < to) {
            const Position source = group.moved(position, f, -moved);
            ops.push_back(schedule::recv_reduce(source, {0}, side_of(source, position)));
        }
    }
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
                    return assemble(Collective::reduce, problem, Partition::even(1), Symmetric::no,
                                    [of, root = problem.root](Ops &ops, Position p) {
                                        append(ops, of, p, root);
                                    });
                },
            .misfit = generalized_misfit};
}

} // namespace stretto::algorithms
