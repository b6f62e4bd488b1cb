// SPDX-License-Identifier: BSD-3-Clause
// Plans of every algorithm, in one tile and in many, with rings and slices of every size: what all
// ranks end with is exact, and none gets stuck.
#include "doctest.h"

#include <random>
#include <utility>

#include "algorithms/cases.hpp"
#include "base/status.hpp"
#include "engine/plan.hpp"
#include "engine/player.hpp"
#include "engine/tiling.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::engine;
using schedule::Position;
using schedule::Schedule;
using stretto::test::Algorithm;
using stretto::test::Choice;

namespace {

Schedule allreduce(const char *algorithm, Position ranks) {
    return algorithms::make(algorithms::parse(schedule::Collective::allreduce, algorithm), ranks);
}

std::vector<Position> sizes() {
    if (::test::full_tier())
        return {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16};
    return ::test::sampled() ? std::vector<Position>{2, 5} : std::vector<Position>{1, 2, 3, 5, 7};
}

template<class Check>
void each_schedule(Check &&check) {
    for (const Algorithm &algorithm : algorithms::all())
        for (const Position ranks : sizes()) {
            if (!algorithm.runs(ranks) || algorithm.collective == schedule::Collective::barrier)
                continue;
            const std::vector<Position> roots = stretto::test::roots(algorithm, ranks);
            for (const Choice &choice : stretto::test::choices(algorithm, ranks)) {
                const Position root = roots[static_cast<std::size_t>(ranks) % roots.size()];
                CAPTURE(stretto::test::label(choice, ranks, root));
                check(algorithms::make(choice, ranks, root));
            }
        }
}

} // namespace

TEST_CASE("plans come to the result, whatever their tiles, slices and rings") {
    std::minstd_rand random(11);
    const auto any = [&](auto... values) {
        const std::size_t all[] = {static_cast<std::size_t>(values)...};
        return all[random() % sizeof...(values)];
    };
    int tiled = 0;
    each_schedule([&](const Schedule &schedule) {
        const auto blocks = static_cast<std::size_t>(schedule.blocks());
        for (int turn = 0; turn < (::test::full_tier() ? 12 : 1); ++turn) {
            PlanOptions options;
            options.ring_bytes = any(2048, 4096, 1 << 15, 1 << 21);
            options.slice = any(64, 192, 1024);
            options.tile_work = any(1, 16, 200, kTileOpBlocks);
            options.commutes = random() % 4 != 0;
            options.output_everywhere = random() % 2 == 0;
            options.cores = static_cast<unsigned>(any(1, 2, 64));
            const std::size_t each = any(1, 70, 500);
            options.count = schedule.partition.fitting(
                blocks * each < 12'000 ? blocks * each + random() % blocks : blocks);
            CAPTURE(options.count);
            CAPTURE(options.ring_bytes);
            CAPTURE(options.slice);
            CAPTURE(options.tile_work);
            stretto::test::Player player(schedule, options, random() % 2 == 0);
            for (const auto &plan : player.plans()) {
                CHECK(plan->identity == player.plans()[0]->identity);
                CHECK(std::ranges::equal(plan->cell_bytes, player.plans()[0]->cell_bytes));
                CHECK(bool(plan->tiles) == bool(player.plans()[0]->tiles));
            }
            tiled += player.plans()[0]->tiles != nullptr;
            CHECK(player.play(static_cast<unsigned>(random())) == "");
        }
    });
    CHECK(tiled > (::test::sampled() ? 25 : 50));
}

TEST_CASE("tiles cover every block once, and the last is not much longer than the others") {
    const Schedule ring = allreduce("ring", 5);
    for (const std::size_t element : {1u, 4u, 16u, 12u, 1000u})
        for (const std::size_t count : {5'000u, 99'991u, 1'000'003u})
            for (const std::size_t work : {1u, 64u, 4096u}) {
                const Blocks blocks(ring.partition, count, element);
                const Tiling tiles = tiling(blocks, element, 4096, [&] {
                    return work / work_of_layer(ring, 0, one_for_all(ring, blocks, element));
                });
                if (tiles.count == 1) {
                    CHECK(tiles.each().length == Piece{}.length);
                    continue;
                }
                CHECK(tiles.stride % element == 0);
                const Blocks last(ring.partition, count, element, tiles.last());
                for (schedule::Block b = 0; b < ring.blocks(); ++b) {
                    CHECK(blocks.first(b) + (tiles.count - 1) * tiles.stride == last.first(b));
                    CHECK((tiles.count - 1) * tiles.stride + last.length(b) == blocks.length(b));
                }
                CHECK(last.least() >= tiles.stride);
                CHECK(last.longest() < 2 * tiles.stride + element);
            }
}

TEST_CASE("a plan does not grow with the vector") {
    for (const char *algorithm :
         {"ring", "direct", "recursive_doubling", "one_shot", "circulant", "generalized"}) {
        CAPTURE(algorithm);
        const Schedule schedule = allreduce(algorithm, 8);
        PlanOptions options;
        options.commutes = true;
        options.count = std::size_t{1} << 28; // 1 GiB
        const auto one = compile(schedule, 3, options);
        options.count *= 64;
        const auto large = compile(schedule, 3, options);
        REQUIRE(one->tiles != nullptr);
        REQUIRE(large->tiles != nullptr);
        CHECK(large->footprint() < one->footprint() + one->footprint() / 4);
        CHECK(large->footprint() < std::size_t{4} << 20);
        CHECK(large->messages > 60 * one->messages);
    }
}

TEST_CASE("a check of the memory that a plan takes makes no program once more") {
    Schedule tree = allreduce("binomial", 13); // lowered for all positions
    std::size_t made = 0;
    tree.program = [of = tree.program, &made](schedule::Position position) {
        ++made;
        return of(position);
    };
    PlanOptions options;
    options.commutes = true;
    options.count = std::size_t{1} << 24;
    const auto unchecked = compile(tree, 3, options);
    const std::size_t necessary = std::exchange(made, 0);
    std::size_t need = 0;
    const auto checked = compile(tree, 3, options, [&](std::size_t bytes) { need = bytes; });
    CHECK(made == necessary);
    CHECK(need > checked->footprint());
    CHECK(checked->identity == unchecked->identity);
    const auto refuse = [](std::size_t) { throw Error(Status::memory, "no room"); };
    CHECK_THROWS_WITH_AS(compile(tree, 3, options, refuse), "no room", Error);
}

TEST_CASE("a plan with more steps than progress can count is refused") {
    PlanOptions options;
    options.count = std::size_t{1} << 36;
    options.slice = 64;
    CHECK_THROWS_WITH_AS(compile(allreduce("ring", 2), 0, options),
                         doctest::Contains("raise STRETTO_SLICE_BYTES"), Error);
    options.slice = 1 << 18;
    CHECK(compile(allreduce("ring", 2), 0, options)->tiles != nullptr);
}
