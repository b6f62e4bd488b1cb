// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <algorithm>

#include "engine/order.hpp"
#include "engine/plan.hpp"
#include "support/schedules.hpp"
#include "transport/shm/cell.hpp"

using namespace stretto;
using namespace stretto::engine;

// Plays an order again, as ranks would that block at the first step which is not possible: picks
// ranks at random, so that every speed of theirs is met.  True if all come to the end.
static bool plays(const Lowered &lowered, const Order &order, std::size_t ring_bytes,
                  unsigned seed) {
    const std::size_t ranks = lowered.passes.size();
    std::vector<std::size_t> next(ranks, 0);
    std::vector<std::vector<bool>> published(ranks);
    for (std::size_t p = 0; p < ranks; ++p)
        published[p].assign(lowered.publishes[p].size(), false);
    const auto can = [&](std::size_t p) {
        const auto &pass = lowered.passes[p][static_cast<std::size_t>(order.sequence[p][next[p]])];
        for (const Operand &operand : pass.operands)
            if (operand.owner >= 0 && !published[static_cast<std::size_t>(operand.owner)]
                                                [static_cast<std::size_t>(operand.publish)])
                return false;
        if (pass.publish < 0)
            return true;
        const auto mine = static_cast<std::size_t>(pass.publish);
        const transport::Extent end =
            order.place[p][mine] + transport::extent(lowered.publishes[p][mine].length);
        for (std::size_t c = 0; c < lowered.publishes[p].size(); ++c) {
            const Publish &other = lowered.publishes[p][c];
            const transport::Extent &place = order.place[p][c];
            if (!published[p][c] ||
                (place.cells + ring_bytes >= end.cells && place.bulk + ring_bytes >= end.bulk))
                continue;
            for (const Reader &reader : other.readers)
                if (order.rank_of[static_cast<std::size_t>(reader.position)]
                                 [static_cast<std::size_t>(reader.pass)] >=
                    static_cast<std::int32_t>(next[static_cast<std::size_t>(reader.position)]))
                    return false; // would overwrite what it has not taken
        }
        return true;
    };
    for (;;) {
        std::vector<std::size_t> able;
        bool all_done = true;
        for (std::size_t p = 0; p < ranks; ++p) {
            if (next[p] == order.sequence[p].size())
                continue;
            all_done = false;
            if (can(p))
                able.push_back(p);
        }
        if (all_done)
            return true;
        if (able.empty())
            return false;
        seed = seed * 1664525 + 1013904223;
        const std::size_t p = able[(seed >> 8) % able.size()];
        const auto &pass = lowered.passes[p][static_cast<std::size_t>(order.sequence[p][next[p]])];
        if (pass.publish >= 0)
            published[p][static_cast<std::size_t>(pass.publish)] = true;
        ++next[p];
    }
}

TEST_CASE("an order can be played at any speeds, however small the rings") {
    for (const schedule::Position ranks : {2, 3, 5, 8})
        for (const auto &schedule : {test::one_shot(ranks), test::direct(ranks), test::ring(ranks),
                                     test::linear(ranks), test::binomial(ranks)})
            for (const std::size_t ring : {std::size_t{4096}, std::size_t{1} << 16}) {
                LowerOptions lowering;
                lowering.count = 5003;
                lowering.slice = ring / 8;
                OrderOptions ordering;
                ordering.ring_bytes = ring;
                CAPTURE(schedule.name);
                CAPTURE(ranks);
                CAPTURE(ring);
                for (const Publishing publishing :
                     {Publishing::by_op, Publishing::by_reader, Publishing::granted}) {
                    lowering.fuse = publishing != Publishing::granted;
                    ordering.publishing = publishing;
                    const Lowered lowered = lower(schedule, lowering);
                    const std::optional<Order> found = order(lowered, ordering);
                    if (publishing == Publishing::granted)
                        REQUIRE(found);
                    for (unsigned seed = 0; found && seed < 5; ++seed)
                        CHECK(plays(lowered, *found, ring, seed));
                }
            }
}

TEST_CASE("rings need not hold all cells of a rank at once") {
    for (const schedule::Position ranks : {5, 8, 13, 16, 24}) {
        LowerOptions lowering;
        lowering.count = static_cast<std::size_t>(ranks) * 1024;
        OrderOptions ordering;
        ordering.ring_bytes = 1 << 14; // of new data two of the cells that a rank publishes fit
        const Lowered lowered = lower(test::direct(ranks), lowering);
        CAPTURE(ranks);
        CHECK_FALSE(order(lowered, ordering));
        ordering.publishing = Publishing::by_reader;
        const std::optional<Order> found = order(lowered, ordering);
        REQUIRE(found);
        for (unsigned seed = 0; seed < 5; ++seed)
            CHECK(plays(lowered, *found, ordering.ring_bytes, seed));
        // So the plan has no more steps than with rings that hold everything.
        PlanOptions options;
        options.count = lowering.count;
        const std::size_t steps = compile(test::direct(ranks), 1, options)->steps.size();
        options.ring_bytes = std::size_t{1} << 16; // slices are an eighth of it
        CHECK(compile(test::direct(ranks), 1, options)->steps.size() == steps);
    }
}

TEST_CASE("a ring of half the ranks' slices needs order, not luck") {
    // 64 ranks, and room for a few slices in each ring: new data must not fill them.
    LowerOptions lowering;
    lowering.count = 64 * 4096;
    lowering.slice = 2048;
    OrderOptions ordering;
    ordering.ring_bytes = 1 << 14;
    ordering.latency = 64;
    const Lowered lowered = lower(test::ring(64), lowering);
    CHECK(order(lowered, ordering));
}

TEST_CASE("plans know whether anybody can leave before all have entered") {
    PlanOptions options;
    options.count = 1000;
    for (const schedule::Position ranks : {2, 3, 8}) {
        CHECK(compile(test::one_shot(ranks), 0, options)->synchronizing);
        CHECK(compile(test::direct(ranks), 0, options)->synchronizing);
        CHECK(compile(test::ring(ranks), 0, options)->synchronizing);
    }
    std::vector<schedule::Program> programs = test::empty_programs(2);
    programs[0].ops = {schedule::send(1, {0})};
    programs[1].ops = {schedule::recv(0, {0})};
    CHECK_FALSE(
        compile(test::assemble("told", schedule::Contract(schedule::Collective::broadcast, 2, 1),
                               programs),
                0, options)
            ->synchronizing);
}

TEST_CASE("the plans of all positions agree on the data of both ends") {
    PlanOptions options;
    options.count = 12'345;
    const auto first = compile(test::direct(5), 0, options);
    for (schedule::Position p = 1; p < 5; ++p) {
        const auto plan = compile(test::direct(5), p, options);
        CHECK(plan->identity == first->identity);
        CHECK(std::ranges::equal(plan->cell_bytes, first->cell_bytes));
    }
    options.slice = 4096;
    CHECK(compile(test::direct(5), 0, options)->identity != first->identity);
}
