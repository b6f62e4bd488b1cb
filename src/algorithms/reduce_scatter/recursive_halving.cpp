// SPDX-License-Identifier: BSD-3-Clause
// Recursive halving: members of a hypercube exchange halves of what is left, nearest partner first.
//
// Source: Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in
// MPICH", 2005; with nearest partners first, so that operands stay in the order of positions.
//
//   member   a position that takes part in the exchanges (cube.hpp); surplus positions are folded
//   chunk    the blocks of one member and of the position that it stands for
//
//   5 ranks: members 0 (which stands for 1), 2, 3, 4; ">" sends, "<" receives and reduces
//
//             fold       dimension 0        dimension 1     unfold
//   0 (v0)    < all 1    > 2 4, < 0 1 3     > 3, < 0 1      > 1
//   1         > all 0                                       < 1
//   2 (v1)               > 0 1 3, < 2 4     > 4, < 2
//   3 (v2)               > 2 4, < 0 1 3     > 0 1, < 3
//   4 (v3)               > 0 1 3, < 2 4     > 2, < 4
//
// Steps     k = floor(log2 P), 2 more if P is not a power of two
// Bytes     (1 - 2^-k) m sent by a member; a folded position sends m, which costs as much again
// Good for middle-sized vectors over a network, P a power of two.  Any P.  No scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/cube.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

static Cube owners(const Fold &fold) {
    Cube cube = cube_of(fold.members());
    for (Position v = 0; v < fold.power; ++v) {
        const Position member = cube.member(v);
        cube.chunks[static_cast<std::size_t>(reversed(v, fold.dimensions))] =
            consecutive(member, fold.paired(member) ? 2 : 1);
    }
    return cube;
}

static void append(Ops &ops, Position position, Position ranks) {
    const Fold fold(ranks);
    const Blocks all = consecutive(0, ranks);
    if (fold.folded(position)) {
        ops.push_back(schedule::send(position - 1, all));
        ops.push_back(schedule::recv(position - 1, {position}));
        return;
    }
    if (fold.paired(position))
        ops.push_back(schedule::recv_reduce(position + 1, all, Side::right));
    append_halving(ops, owners(fold), fold.number(position));
    if (fold.paired(position))
        ops.push_back(schedule::send(position + 1, {position + 1}));
}

Algorithm reduce_scatter::recursive_halving() {
    return {.name = "recursive_halving",
            .collective = Collective::reduce_scatter,
            .summary = "members of a hypercube exchange halves; surplus ranks are folded",
            .source = "Thakur, Rabenseifner & Gropp 2005",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = folds_canonically,
            .make =
                [](const Problem &problem) {
                    return alike_by_owner(assemble(
                        Collective::reduce_scatter, problem, by_owner(problem),
                        hypercube(problem.ranks),
                        [ranks = problem.ranks](Ops &ops, Position p) { append(ops, p, ranks); }));
                },
            .unequal_shares = true};
}

} // namespace stretto::algorithms
