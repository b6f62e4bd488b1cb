// SPDX-License-Identifier: BSD-3-Clause
// Rabenseifner's algorithm: members of a hypercube exchange halves of what is left until each has
// reduced one chunk, then gather the chunks on the way back.
//
// Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; with nearest
// partners first, so that operands stay in the order of positions.
//
//   member   a position that takes part in the exchanges; surplus positions are folded (cube.hpp)
//   chunk    one of 2^k blocks
//
//   5 ranks: members 0 (which stands for 1), 2, 3, 4; ">" sends, "<" receives
//
//             fold       dimension 0    dimension 1    dimension 1    dimension 0    unfold
//   0 (v0)    < all 1    > 23, < 01     > 1, < 0       > 0, < 1       > 01, < 23     > all 1
//   1         > all 0                                                                < all 0
//   2 (v1)               > 01, < 23     > 3, < 2       > 2, < 3       > 23, < 01
//   3 (v2)               > 23, < 01     > 0, < 1       > 1, < 0       > 01, < 23
//   4 (v3)               > 01, < 23     > 2, < 3       > 3, < 2       > 23, < 01
//
// Steps     2 k with k = floor(log2 P), 2 more if P is not a power of two
// Bytes     2 (1 - 2^-k) m sent by a member; folding costs two more messages of m
// Good for middle-sized and long vectors over a network, P a power of two.  Any P.  No scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/cube.hpp"

namespace stretto::algorithms {

static void append(Ops &ops, Position position, Position ranks) {
    const Fold fold(ranks);
    const Blocks all = consecutive(0, fold.power);
    if (fold.folded(position)) {
        ops.push_back(schedule::send(position - 1, all));
        ops.push_back(schedule::recv(position - 1, all));
        return;
    }
    const Cube cube = cube_of(fold.members());
    if (fold.paired(position))
        ops.push_back(schedule::recv_reduce(position + 1, all, Side::right));
    append_halving(ops, cube, fold.number(position));
    append_doubling(ops, cube, fold.number(position), 0, 1);
    if (fold.paired(position))
        ops.push_back(schedule::send(position + 1, all));
}

Algorithm allreduce::rabenseifner() {
    return {.name = "rabenseifner",
            .collective = Collective::allreduce,
            .summary = "halve the vector along a hypercube and back; surplus ranks are folded",
            .source = "Rabenseifner 2004",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = folds_canonically,
            .make = [](const Problem &problem) {
                return allreduce_along_cube(problem, [ranks = problem.ranks](Ops &ops, Position p) {
                    append(ops, p, ranks);
                });
            }};
}

} // namespace stretto::algorithms
