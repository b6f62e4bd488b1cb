// SPDX-License-Identifier: BSD-3-Clause
// Recursive doubling: members of a hypercube exchange their sums, distance 1, 2, 4, ...
//
// Source: Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in
// MPICH", 2005.
//
//   member   a position that takes part in the exchanges; surplus positions are folded (cube.hpp)
//
//   5 ranks    fold          dimension 0      dimension 1       unfold
//   0 (v0)     (0 1)         (0 1) 2          ((0 1) 2) (3 4)   to 1
//   1          to 0                                             from 0
//   2 (v1)                   (0 1) 2          ((0 1) 2) (3 4)
//   3 (v2)                   3 4              ((0 1) 2) (3 4)
//   4 (v3)                   3 4              ((0 1) 2) (3 4)
//
// An exchange must not overwrite what it still sends: in place, each of two partners would wait for
// the other to take its vector first.  So a receive reduces from the slot that is being sent into
// another, `work` and scratch in turn; where the last result would land in scratch, that last
// exchange receives there and reduces into `work`, which saves a copy.
//
// Steps     k = floor(log2 P), 2 more if P is not a power of two
// Messages  2^k k + 2 (P - 2^k) of m bytes; a member sends k, or k + 1
// Good for small vectors over a network.  Any P.  Scratch: one vector.
#include "algorithms/catalog.hpp"
#include "algorithms/cube.hpp"

namespace stretto::algorithms {

static void append(Ops &ops, Position position, Position ranks) {
    const Fold fold(ranks);
    if (fold.folded(position)) {
        ops.push_back(schedule::send(position - 1, {0}));
        ops.push_back(schedule::recv(position - 1, {0}));
        return;
    }
    if (fold.paired(position))
        ops.push_back(schedule::recv_reduce(position + 1, {0}, Side::right));
    append_exchanges(ops, cube_of(fold.members()), fold.number(position), {0});
    if (fold.paired(position))
        ops.push_back(schedule::send(position + 1, {0}));
}

Algorithm allreduce::recursive_doubling() {
    return {.name = "recursive_doubling",
            .collective = Collective::allreduce,
            .summary = "members of a hypercube exchange sums; surplus ranks are folded",
            .source = "Thakur, Rabenseifner & Gropp 2005",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = folds_canonically,
            .make = [](const Problem &problem) {
                return alike_by_owner(assemble(
                    Collective::allreduce, problem, Partition::even(1), hypercube(problem.ranks),
                    [ranks = problem.ranks](Ops &ops, Position p) { append(ops, p, ranks); }));
            }};
}

} // namespace stretto::algorithms
