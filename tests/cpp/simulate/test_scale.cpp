// SPDX-License-Identifier: BSD-3-Clause
// Thousands of positions: by the formulas of algorithms, and one position that is played for all
// against all of them.
#include "doctest.h"

#include <random>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "simulate/times.hpp"
#include "support/schedules.hpp"

using namespace stretto;
using namespace stretto::test;
using simulate::Mode;
using simulate::Problem;
using simulate::Timeline;

TEST_CASE("one position for all, or all of them: the same times") {
    for (const Position ranks : {1, 2, 3, 5, 7, 8, 12, 13, 16})
        for (const algorithms::Algorithm &algorithm : algorithms::all()) {
            if (!algorithm.runs(ranks))
                continue;
            const Schedule one =
                algorithms::make({.algorithm = &algorithm, .parameters = {}}, ranks);
            if (!one.symmetry)
                continue;
            Schedule all = one;
            all.symmetry.reset();
            for (const Mode mode : {Mode::posted, Mode::arrived, Mode::eager, Mode::ordered})
                for (const double arrival : {0.0, 3.0})
                    // Of equal blocks, and of others.
                    for (const int more : {0, 1}) {
                        CAPTURE(one.name);
                        CAPTURE(ranks);
                        CAPTURE(static_cast<int>(mode));
                        Problem problem = units(mode, {},
                                                one.partition.fitting(static_cast<std::size_t>(
                                                    one.blocks() * 3 + more)));
                        problem.network = {7, 1, 0.3};
                        problem.arrivals.assign(static_cast<std::size_t>(ranks), arrival);
                        const Timeline a = simulate::simulate(one, problem);
                        const Timeline b = simulate::simulate(all, problem);
                        CHECK(a.finish == b.finish);
                        CHECK(a.makespan == b.makespan);
                        CHECK(a.mean_elapsed == b.mean_elapsed);
                    }
        }
}

TEST_CASE("errors of a symmetric schedule name existing positions") {
    const auto without = [](const Schedule &schedule, OpKind kind) {
        auto programs = programs_of(schedule);
        for (Program &program : programs)
            std::erase_if(program.ops,
                          [&](const Op &op) { return op.kind == kind && op.lane == 1; });
        return with_programs(schedule, std::move(programs));
    };
    CHECK_THROWS_WITH_AS(
        simulate::simulate(without(ring(3), OpKind::recv), units(Mode::posted, {}, 3)),
        doctest::Contains("the send of 1 bytes from position 0 to 1 on lane 1"), Error);
    CHECK_THROWS_WITH_AS(
        simulate::simulate(without(ring(3), OpKind::send), units(Mode::posted, {}, 3)),
        doctest::Contains("the receive of 1 bytes from position 2 to 0 on lane 1"), Error);
    // Everybody receives first.
    auto programs = programs_of(ring(3));
    for (Program &program : programs)
        std::swap(program.ops[0], program.ops[1]);
    CHECK_THROWS_WITH_AS(
        simulate::simulate(with_programs(ring(3), programs), units(Mode::posted, {}, 3)),
        doctest::Contains("position 0 waits in op 0"), Error);
}

TEST_CASE("thousands of positions that come together") {
    const Timeline around =
        simulate::simulate(allreduce("ring", 4096), units(Mode::posted, {}, 4096));
    CHECK(around.makespan == 4095 * 1.25 + 4095);
    CHECK(around.mean_elapsed == around.makespan);
    CHECK(around.finish.size() == 4096);
    const Timeline doubled =
        simulate::simulate(allreduce("recursive_doubling", 4096), units(Mode::posted, {}, 1));
    CHECK(doubled.makespan == 12 * 1.25);
    // Vectors of 4095, halved 12 times, and back.
    const Timeline halved =
        simulate::simulate(allreduce("generalized", 4096), units(Mode::posted, {}, 4096));
    CHECK(halved.makespan == 4095 * 1.25 + 4095);
}

TEST_CASE("a ring of 1024 of which one is late: two million messages") {
    Problem problem = units(Mode::posted, {}, 1024);
    problem.arrivals = one_late(1024, 5000, 17);
    const Timeline timeline = simulate::simulate(allreduce("ring", 1024), problem);
    CHECK(timeline.makespan == 5000 + 1023 * 1.25 + 1023);
    CHECK(timeline.finish[17] == timeline.makespan);
}

TEST_CASE("thousands of positions of which the last is late") {
    Problem problem = units(Mode::posted, {}, 8);
    problem.arrivals = one_late(4096, 100'000, 4095);
    // A chain of 8 segments: reduced down to the last, then 7 more segments and 4094 hops.
    problem.network.gamma = 0;
    const Timeline along = simulate::simulate(allreduce("chain(segments=8)", 4096), problem);
    CHECK(along.makespan == 100'000 + 4096 + 8 - 1);
    // n + ceil(log2(P - 1)) + 1 rounds.
    problem.mode = Mode::ordered;
    const Timeline rooted = simulate::simulate(allreduce("late_rooted(blocks=8)", 4096), problem);
    CHECK(rooted.makespan == 100'000 + 8 + 12 + 1);
}
