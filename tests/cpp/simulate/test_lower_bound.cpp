// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <cmath>
#include <random>

#include "base/status.hpp"
#include "simulate/late_tables.hpp"
#include "simulate/lower_bound.hpp"
#include "simulate/times.hpp"
#include "support/paper_schedules.hpp"

using namespace stretto;
using namespace stretto::test;
using schedule::Position;
using simulate::lower_bound;
using simulate::LowerBound;
using simulate::Mode;

TEST_CASE("the bounds of the tables") {
    for (const LateTable &table : kLateTables)
        for (const LateRow &row : table.rows) {
            CAPTURE(table.ranks);
            CAPTURE(row.late);
            const std::vector<double> arrivals = one_late(table.ranks, row.late * 1e-3, 1);
            const LowerBound bound = lower_bound(table.bytes, arrivals, table.network);
            CHECK(as_printed(bound.mean_elapsed * 1e3, row.bound));
        }
}

TEST_CASE("the last finish after one late arrival: a vector and the rounds of a broadcast") {
    const LowerBound bound = lower_bound(4 * kMebi, one_late(16, 1, 3), kTenG);
    CHECK(as_printed((bound.last_finish - 1) * 1e3, 42, 1));
    CHECK(bound.last_finish == doctest::Approx(1 + 1e-8 * 4 * kMebi + 4 * 3e-5).epsilon(1e-12));
    // Balanced, the ports are the limit: 2 (P - 1) / P vectors each.
    const LowerBound balanced = lower_bound(4 * kMebi, std::vector<double>(16, 5), kTenG);
    CHECK(balanced.last_finish == doctest::Approx(5 + 30.0 / 16 * 1e-8 * 4 * kMebi).epsilon(1e-12));
}

TEST_CASE("small numbers of ranks, no bytes, no ranks") {
    CHECK(lower_bound(1000, {7}, kTenG).mean_elapsed == 0);
    CHECK(lower_bound(1000, {7}, kTenG).last_finish == 7);
    // Two ranks exchange.
    const LowerBound two = lower_bound(1000, {0, 1}, {1e-3, 1e-6, 0});
    CHECK(two.mean_elapsed == doctest::Approx(0.5 + 2e-3));
    CHECK(two.last_finish == doctest::Approx(1 + 2e-3));
    CHECK(lower_bound(0, std::vector<double>(8, 0), {1e-3, 1e-6, 0}).last_finish ==
          doctest::Approx(3e-3));
    CHECK_THROWS_AS(lower_bound(1000, {}, kTenG), Error);
}

TEST_CASE("no algorithm beats the bounds, whichever rank is late") {
    std::mt19937 random(7);
    for (const Position ranks : {2, 3, 5, 8, 13})
        for (const double spread : {0.0, 1e-3, 1e-2, 1e-1}) {
            std::vector<double> arrivals;
            for (Position p = 0; p < ranks; ++p)
                arrivals.push_back(std::uniform_real_distribution<>(0, spread)(random));
            simulate::Problem problem;
            problem.count = 6 * 1365; // no multiple of most numbers of ranks
            problem.element = 64;
            problem.arrivals = arrivals;
            const LowerBound bound =
                lower_bound(problem.count * problem.element, arrivals, problem.network);
            std::vector<Schedule> schedules = {generalized_cyclic(ranks)};
            for (const algorithms::Algorithm &algorithm : algorithms::all())
                if (algorithm.collective == schedule::Collective::allreduce &&
                    algorithm.runs(ranks))
                    schedules.push_back(allreduce(std::string(algorithm.name), ranks));
            for (const Schedule &schedule : schedules)
                for (const Mode mode : {Mode::posted, Mode::arrived, Mode::ordered}) {
                    CAPTURE(schedule.name);
                    CAPTURE(ranks);
                    CAPTURE(spread);
                    CAPTURE(static_cast<int>(mode));
                    problem.mode = mode;
                    const simulate::Timeline timeline = simulate::simulate(schedule, problem);
                    CHECK(timeline.mean_elapsed >= bound.mean_elapsed - 1e-9);
                    CHECK(timeline.makespan >= bound.last_finish - 1e-9);
                }
        }
}
