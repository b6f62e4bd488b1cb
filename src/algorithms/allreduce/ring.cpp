// SPDX-License-Identifier: BSD-3-Clause
// Ring: partial sums of P chunks travel around the ring, then the results do.
//
// Source: Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 2009: reduce_scatter/ring.cpp, then allgather/ring.cpp.
//
//   chunk c   belongs to position c
//
//   3 ranks, what position 0 does:   sends 2, receives 1;  sends 1, receives 0, which is complete
//                                    sends 0, receives 2;  sends 2, receives 1, all complete
//
// Steps     2 (P - 1)
// Messages  2 (P - 1) sent by each, of m / P bytes: 2 (P - 1) / P m per port, the least possible
// Good for long vectors on links where only neighbours are close; immune to run-ahead.  Commutative
// operations only (P > 2).  No scratch.
#include "algorithms/catalog.hpp"
#include "algorithms/parts.hpp"

namespace stretto::algorithms {

Algorithm allreduce::ring() {
    return {.name = "ring",
            .collective = Collective::allreduce,
            .summary = "partial sums, then results travel around a ring",
            .source = "Patarasuk & Yuan 2009",
            .parameters = {},
            .runs = always,
            .order_preserving = up_to<2>,
            .consistent = always,
            .canonical = up_to<2>,
            .make = [](const Problem &problem) {
                return alike_by_owner(assemble(
                    Collective::allreduce, problem, Partition::even(problem.ranks),
                    Group::cyclic(problem.ranks), [ranks = problem.ranks](Ops &ops, Position p) {
                        append_ring_reduce_scatter(ops, p, ranks);
                        append_ring_allgather(ops, p, ranks, 1, 1);
                    }));
            }};
}

} // namespace stretto::algorithms
