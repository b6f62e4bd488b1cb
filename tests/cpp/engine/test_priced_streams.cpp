// SPDX-License-Identifier: BSD-3-Clause
// The streams that prices go by are those of plans.
#include "doctest.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "cost/indexed_network.hpp"
#include "cost/pieces.hpp"
#include "cost/streams.hpp"
#include "engine/plan.hpp"

using namespace stretto;
using schedule::Position;
using schedule::Schedule;

namespace {

constexpr std::size_t kElementBytes = 4, kSliceBytes = 4096, kRingBytes = 1 << 16;

// A cell: where it ends, and the positions that read it.
using Cell = std::pair<std::uint64_t, std::vector<Position>>;

std::vector<Cell> of_plan(const Schedule &schedule, Position position, std::size_t count) {
    engine::PlanOptions options;
    options.count = count;
    options.element = kElementBytes;
    options.slice = kSliceBytes;
    options.ring_bytes = kRingBytes;
    options.commutes = true;
    const auto plan = engine::compile(schedule, position, options);
    REQUIRE(!plan->tiles);
    std::vector<Cell> found;
    for (const engine::PublishedCell &cell : plan->cells) {
        const engine::Step &step = plan->steps[cell.step];
        Cell &mine = found.emplace_back(cell.end.cells, std::vector<Position>{});
        for (std::uint32_t r = 0; r < step.readers; ++r)
            mine.second.push_back(plan->readers[step.first_reader + r].rank);
        std::ranges::sort(mine.second);
    }
    return found;
}

std::vector<Cell> of_price(const cost::Pieces &pieces, const cost::Streams &streams,
                           Position position) {
    std::vector<Cell> found;
    for (const cost::CellId id : streams.stream[static_cast<std::size_t>(position)]) {
        const cost::Streams::Cell &cell = streams.cells[id];
        Cell &mine =
            found.emplace_back(static_cast<std::uint64_t>(cell.end), std::vector<Position>{});
        for (const cost::TaskId reader : cell.readers)
            mine.second.push_back(static_cast<Position>(pieces.tasks[reader].position));
        std::ranges::sort(mine.second);
    }
    return found;
}

} // namespace

TEST_CASE("prices lay streams out as plans do") {
    for (const Position ranks : {2, 3, 5, 8})
        for (const std::string name :
             {"ring", "segmented_ring", "chain(segments=40)", "chain(segments=20)",
              "late_rooted(blocks=40)", "pre_reduced_ring", "stragglar(blocks=40)", "binomial",
              "direct", "recursive_doubling"}) {
            const auto choice = algorithms::parse(schedule::Collective::allreduce, name);
            if (!algorithms::misfit(choice, algorithms::problem_of(choice, ranks)).empty())
                continue;
            CAPTURE(name);
            CAPTURE(ranks);
            const Schedule schedule = algorithms::make(choice, ranks);
            // Whole slices: a price counts all slices of a block as equally long.
            const std::size_t count =
                static_cast<std::size_t>(schedule.blocks()) * 2 * kSliceBytes / kElementBytes;
            const cost::IndexedNetwork network({.host_of = {}, .inside = {}, .between = {}}, ranks);
            const cost::Pieces pieces =
                cost::pieces_of(schedule, count, kElementBytes, kSliceBytes, network, {}, true);
            const cost::Streams streams = cost::streams_of(pieces, kRingBytes);
            for (Position position = 0; !streams.empty() && position < ranks; ++position) {
                CAPTURE(position);
                CHECK(of_price(pieces, streams, position) == of_plan(schedule, position, count));
            }
        }
}
