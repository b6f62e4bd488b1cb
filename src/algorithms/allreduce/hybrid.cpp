// SPDX-License-Identifier: BSD-3-Clause
// Hybrid: recursive halving while messages are long, recursive doubling when they have become
// short, then back as Rabenseifner.
//
// Source: van de Geijn, "Efficient global combine operations", DMCC 1991; Rabenseifner & Träff,
// EuroPVM/MPI 2004; here with nearest partners first, so that operands stay in order.
//
//   P = 2^k   positions as a cube of k dimensions, the low k - d of them for halving, the high d
//   d         the parameter `doublings`: 0 is rabenseifner, k is recursive_doubling
//   chunk     one of 2^(k - d) blocks
//
//   8 ranks, d = 1, position 0:   > 23 to 1, < 01;   > 1 to 2, < 0;   exchanges 0 with 4
//                                 > 0 to 2, < 1;     > 01 to 1, < 23
//
// Every doubling costs 2^-(k - d) m, which halves as d falls, and saves a step.
//
// Steps     2 k - d
// Messages  2 k - d sent by each
// Bytes     2 (1 - 2^-(k - d)) m + d 2^-(k - d) m sent by each
// Good for middle-sized vectors over a network, P a power of two and nothing else.  Scratch: a
// chunk, if d > 0.
#include "algorithms/catalog.hpp"
#include "algorithms/cube.hpp"

namespace stretto::algorithms {

// Members of a cube of `dimensions`, `stride` apart.
static Cube cube_from(Position first, int dimensions, Position stride) {
    std::vector<Position> members;
    for (Position v = 0; v < Position{1} << dimensions; ++v)
        members.push_back(first + v * stride);
    return cube_of(std::move(members));
}

static void append(Ops &ops, Position position, int halvings, int doublings) {
    const Position stride = Position{1} << halvings;
    const Position low = position % stride, high = position / stride;
    const Cube near = cube_from(high * stride, halvings, 1);
    append_halving(ops, near, low);
    append_exchanges(ops, cube_from(low, doublings, stride), high, near.share(low, halvings));
    append_doubling(ops, near, low, 0, 1);
}

Algorithm allreduce::hybrid() {
    constexpr Parameter doublings = {
        .name = "doublings",
        .fallback = 1,
        .least = 0,
        .most = 30,
        .meaning = "steps of recursive doubling instead of halving, up to log2 of the ranks",
        .most_at = [](Position ranks) { return std::int64_t{log2_floor(ranks)}; }};
    return {.name = "hybrid",
            .collective = Collective::allreduce,
            .summary = "halve along a hypercube while it pays, then exchange whole sums",
            .source = "van de Geijn 1991; Rabenseifner & Träff 2004",
            .parameters = {doublings},
            .runs = power_of_two,
            .order_preserving = always,
            .consistent = always,
            .canonical = always,
            .make = [](const Problem &problem) {
                const int d = parameter(problem, "doublings");
                const int halvings = log2_floor(problem.ranks) - d;
                return alike(
                    assemble(Collective::allreduce, problem,
                             Partition::even(Position{1} << halvings), hypercube(problem.ranks),
                             [halvings, d](Ops &ops, Position p) { append(ops, p, halvings, d); }),
                    relative_in_cube(halvings));
            }};
}

} // namespace stretto::algorithms
