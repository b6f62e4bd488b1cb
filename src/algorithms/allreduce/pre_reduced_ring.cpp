// SPDX-License-Identifier: BSD-3-Clause
// Pre-reduced ring (PRR): a ring in which early positions begin to reduce before the others arrive.
//
// Source: Proficz, "Improving all-reduce collective operations for imbalanced process arrival
// patterns", J. Supercomput. 2018, figure 7, corrected as docs/papers/proficz.md says.
//
// Positions are sorted by arrival.
//
//   ahead k[p]  steps that position p makes before the last one comes; k[P - 1] = 0, and each is as
//               far ahead as the next or one step more.  All 0: the ring, op by op
//   chunk c     is begun by the first position p with p + k[p] > c, or by 0 for c = P - 1; the
//               position before that one completes it
//
//   4 ranks, ahead 2 1 0 0:   begins   chunks 0, 1 and 3 at 0, chunk 2 at 3
//                             ends     chunks 0, 1 and 3 at 3, chunk 2 at 2
//
// In both loops a position passes all chunks, downwards, from p - 1 + k[p] on.
//
// Steps     2 (P - 1)
// Messages  2 P (P - 1) of m / P bytes, as in a ring, but up to 2 P of one position
// Good for long vectors when positions come over time of a few steps: their mean time to finish is
// less than that of a ring, while the last to finish is no earlier.  Commutative operations only,
// unless all chunks begin at 0 or 1.  No scratch.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/assemble.hpp"
#include "algorithms/catalog.hpp"
#include "algorithms/early_steps.hpp"
#include "algorithms/lateness.hpp"

namespace stretto::algorithms {

namespace {

constexpr Lane kReduce = 0, kOverride = 1;

using Steps = std::vector<Position>;

Steps steps_of(const Problem &problem) {
    Steps ahead(static_cast<std::size_t>(problem.ranks), 0);
    const Value &given = problem.parameters.at("ahead");
    for (std::size_t p = 0; p < given.size(); ++p)
        ahead[p] = static_cast<Position>(given[p]);
    return ahead;
}

// The position that begins each chunk.
Steps beginnings(const Steps &ahead) {
    const auto ranks = static_cast<Position>(ahead.size());
    Steps found(ahead.size());
    Position p = 0;
    for (Position reached = 0; reached < ranks; ++reached) {
        while (p + ahead[static_cast<std::size_t>(p)] < reached)
            ++p;
        found[static_cast<std::size_t>(shifted(reached, -1, ranks))] = p;
    }
    return found;
}

void append(Ops &ops, Position position, const Steps &ahead, const Steps &begins) {
    const auto ranks = static_cast<Position>(ahead.size());
    const Position next = shifted(position, 1, ranks), previous = shifted(position, -1, ranks);
    const Side side = side_of(previous, position);
    // Both loops end where they began.
    Block chunk = shifted(position + ahead[static_cast<std::size_t>(position)], -1, ranks);
    for (Position step = 0; step < ranks; ++step, chunk = shifted(chunk, -1, ranks)) {
        const Position first = begins[static_cast<std::size_t>(chunk)];
        if (first != position)
            ops.push_back(schedule::recv_reduce(previous, {chunk}, side));
        // The position that completes a chunk sends the first copy of the result.
        ops.push_back(schedule::send(next, {chunk}, kWork, next == first ? kOverride : kReduce));
    }
    for (Position step = 0; step < ranks; ++step, chunk = shifted(chunk, -1, ranks)) {
        const Position last = shifted(begins[static_cast<std::size_t>(chunk)], -1, ranks);
        if (last == position)
            continue;
        ops.push_back(schedule::recv(previous, {chunk}, kWork, kOverride));
        if (next != last)
            ops.push_back(schedule::send(next, {chunk}, kWork, kOverride));
    }
}

constexpr Parameter kAhead = {
    .name = "ahead",
    .fallback = 0,
    .least = 0,
    .most = 4095,
    .meaning = "steps that each position, the first to arrive first, makes before the last one "
               "comes: 2x1x0x0; by default none",
    .list = true};

std::string why_not(const Problem &problem) {
    const Value &given = problem.parameters.at("ahead");
    if (given.empty())
        return "";
    const std::string text =
        "ahead=" + shown(given) + " on " + std::to_string(problem.ranks) + " ranks: ";
    if (given.size() != static_cast<std::size_t>(problem.ranks))
        return text + "there must be a number for each";
    if (given.back() != 0)
        return text + "the last one must be 0";
    for (std::size_t p = 0; p + 1 < given.size(); ++p)
        if (given[p] != given[p + 1] && given[p] != given[p + 1] + 1)
            return text + "each must be the next or one more";
    return "";
}

// All chunks begin at position 0 or 1.
bool in_order(const Problem &problem) {
    return problem.ranks <= 2 || steps_of(problem)[1] == problem.ranks - 2;
}

// And at 0, of three.
bool canonical_order(const Problem &problem) {
    return problem.ranks <= 2 || (problem.ranks == 3 && steps_of(problem)[0] == 2);
}

std::vector<Values> for_arrivals(const Lateness &expected) {
    constexpr double kGuardFactor = 2; // spreads
    const double step = ring_step(expected.ranks(), expected.bytes, expected.message, expected.byte,
                                  expected.reduce);
    Value ahead = early_steps(expected.arrivals, step, kGuardFactor * expected.spread);
    if (ahead.front() == 0)
        return {}; // a ring
    return {{{"ahead", std::move(ahead)}}};
}

} // namespace

Algorithm allreduce::pre_reduced_ring() {
    return {.name = "pre_reduced_ring",
            .collective = Collective::allreduce,
            .summary = "a ring in which early ranks begin before the last one comes",
            .source = "Proficz 2018 (PRR)",
            .parameters = {kAhead},
            .runs = always,
            .order_preserving = in_order,
            .consistent = always,
            .canonical = canonical_order,
            .make =
                [](const Problem &problem) {
                    const Steps ahead = steps_of(problem);
                    return assemble(Collective::allreduce, problem, Partition::even(problem.ranks),
                                    asymmetric,
                                    [ahead, begins = beginnings(ahead)](Ops &ops, Position p) {
                                        append(ops, p, ahead, begins);
                                    });
                },
            .misfit = why_not,
            .sorted_by_arrival = true,
            .for_arrivals = for_arrivals};
}

} // namespace stretto::algorithms
