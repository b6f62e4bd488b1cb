// SPDX-License-Identifier: BSD-3-Clause
// Linear allreduce: position 0 reduces everybody's vector, one by one, and sends the result to all.
//
// Source: basic linear algorithm (Open MPI's name): reduce/linear.cpp, then broadcast/linear.cpp.
//
//   3 ranks:   1 -> 0, 2 -> 0:  (0 1) 2;  0 -> 1, 0 -> 2
//
// Steps     P
// Messages  2 (P - 1) of m bytes, all through the port of position 0
// Good as the simplest correct answer, and for few ranks with tiny vectors.  No restrictions, no
// scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

Algorithm allreduce::linear() {
    return {.name = "linear",
            .collective = Collective::allreduce,
            .summary = "rank 0 reduces one by one and sends to all",
            .source = "basic linear algorithm",
            .parameters = {},
            .runs = always,
            .order_preserving = always,
            .consistent = always,
            .canonical = up_to<3>,
            .make = [](const Problem &problem) {
                return assemble(Collective::allreduce, problem, Partition::even(1), asymmetric,
                                [ranks = problem.ranks](Ops &ops, Position p) {
                                    append_linear_reduce(ops, p, ranks, 0);
                                    append_linear_broadcast(ops, p, ranks, 0, 1);
                                });
            }};
}

} // namespace stretto::algorithms
