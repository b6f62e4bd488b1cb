// SPDX-License-Identifier: BSD-3-Clause
// Binomial allreduce: up the binomial tree to position 0 and down again.
//
// Source: folklore: reduce/binomial.cpp, then broadcast/binomial.cpp.
//
//   5 ranks:   1 -> 0, 3 -> 2;  2 -> 0;  4 -> 0      ((0 1)(2 3)) 4
//              0 -> 4;  0 -> 2;  0 -> 1, 2 -> 3
//
// Steps     ceil(log2 P) + floor(log2 P)
// Messages  2 (P - 1) of m bytes; no rank sends more than ceil(log2 P)
// Good for small vectors over a network where few messages matter.  Carries the canonical tree for
// every P.  No restrictions, no scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

Algorithm allreduce::binomial() {
    return {.name = "binomial",
            .collective = Collective::allreduce,
            .summary = "up a binomial tree and down again",
            .source = "folklore",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = [](const Problem &problem) {
                return assemble(Collective::allreduce, problem, Partition::even(1), asymmetric,
                                [ranks = problem.ranks](Ops &ops, Position p) {
                                    append_binomial_reduce(ops, p, ranks, 0);
                                    append_binomial_broadcast(ops, p, ranks, 0, 1);
                                });
            }};
}

} // namespace stretto::algorithms
