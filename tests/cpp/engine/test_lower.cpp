// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the ops of well-known schedules.
#include "doctest.h"

#include "base/status.hpp"
#include "engine/lower.hpp"
#include "support/schedules.hpp"

using namespace stretto;
using namespace stretto::engine;
using stretto::schedule::Position;

static std::vector<Pass> passes_of(const Lowered &lowered, Position position) {
    std::vector<Pass> result;
    for (const Pass &pass : lowered.passes[static_cast<std::size_t>(position)])
        if (!pass.gone)
            result.push_back(pass);
    return result;
}

static LowerOptions options_for(std::size_t count) {
    LowerOptions options;
    options.count = count;
    return options;
}

TEST_CASE("one-shot is one cell that all read, and one n-ary pass") {
    const Lowered lowered = lower(test::one_shot(5), options_for(100));
    for (Position p = 0; p < 5; ++p) {
        const auto passes = passes_of(lowered, p);
        REQUIRE(passes.size() == 2);
        CHECK(passes[0].publish == 0);
        CHECK(passes[0].operands[0].range == Range{Space::input, 0, 400});
        CHECK_FALSE(passes[0].result);
        CHECK(lowered.publishes[static_cast<std::size_t>(p)][0].readers.size() == 4);
        CHECK(passes[1].operands.size() == 5);
        CHECK(passes[1].result == Range{Space::output, 0, 400});
        for (Position q = 0; q < 5; ++q) // in rank order, own input in its place
            CHECK(passes[1].operands[static_cast<std::size_t>(q)].owner == (q == p ? -1 : q));
    }
}

TEST_CASE("direct publishes a reduced block while it stores it") {
    const Lowered lowered = lower(test::direct(4), options_for(4000));
    const auto passes = passes_of(lowered, 1);
    int publishes_only = 0, copies = 0, reduces = 0;
    for (const Pass &pass : passes) {
        publishes_only += !pass.result;
        copies += pass.result && pass.operands.size() == 1;
        if (pass.operands.size() == 4) {
            ++reduces;
            CHECK(pass.publish >= 0); // dual store
        }
    }
    CHECK(publishes_only == 3);
    CHECK(copies == 3);
    CHECK(reduces == 1);
}

TEST_CASE("a ring stores forwarded data once more, into the cell") {
    const Lowered lowered = lower(test::ring(4), options_for(4000));
    const auto passes = passes_of(lowered, 2);
    CHECK(passes.size() == 1 + 3 + 3); // the first block out; 3 reductions; 3 copies
    int with_cell = 0;
    for (const Pass &pass : passes)
        with_cell += pass.publish >= 0;
    CHECK(with_cell == 6);
}

TEST_CASE("unfused, every op is by itself") {
    LowerOptions options = options_for(4000);
    options.fuse = false;
    const auto passes = passes_of(lower(test::ring(4), options), 0);
    CHECK(passes.size() == 12); // 6 sends, 6 receives
}

TEST_CASE("long blocks are cut, short neighbours travel together") {
    LowerOptions options = options_for(100'003);
    options.slice = 4096;
    const Lowered lowered = lower(test::one_shot(2), options);
    std::size_t bytes = 0;
    for (const Publish &publish : lowered.publishes[0]) {
        CHECK(publish.length <= 4096);
        bytes += publish.length;
    }
    CHECK(bytes == 400'012);

    // All blocks of a vector in one message: 7 blocks of 12 or 16 bytes are one slice.
    std::vector<schedule::Program> programs = test::empty_programs(2);
    programs[0].ops = {schedule::send(1, {0, 1, 2, 3, 4, 5, 6})};
    programs[1].ops = {schedule::recv(0, {0, 1, 2, 3, 4, 5, 6})};
    const auto together =
        test::assemble("together", schedule::Contract(schedule::Collective::broadcast, 2, 7),
                       programs, schedule::Partition::even(7));
    CHECK(lower(together, options_for(23)).publishes[0].size() == 1);
}

TEST_CASE("blocks without bytes are no messages") {
    const Lowered lowered = lower(test::direct(5), options_for(2)); // three empty blocks
    std::size_t cells = 0;
    for (const auto &publishes : lowered.publishes)
        cells += publishes.size();
    CHECK(cells == 2 * 4 + 2);
}

TEST_CASE("blocks that are not in the output go to scratch") {
    LowerOptions options = options_for(1000);
    options.output_everywhere = false;
    std::vector<schedule::Program> programs = test::empty_programs(3);
    using schedule::Side;
    programs[2].ops = {schedule::send(1, {0})};
    programs[1].ops = {schedule::recv_reduce(2, {0}, Side::right), schedule::send(0, {0})};
    programs[0].ops = {schedule::recv_reduce(1, {0}, Side::right)};
    const auto chain =
        test::assemble("chain", schedule::Contract(schedule::Collective::reduce, 3, 1), programs);
    const Lowered lowered = lower(chain, options);
    // Nobody reads position 1's partial sum but through its cell: it is stored nowhere else.
    const auto middle = passes_of(lowered, 1);
    REQUIRE(middle.size() == 1);
    CHECK_FALSE(middle[0].result);
    CHECK(middle[0].publish == 0);
}

TEST_CASE("a schedule that chooses by a token is refused") {
    CHECK_THROWS_AS(lower(test::chosen_root(), options_for(10)), Error);
}
