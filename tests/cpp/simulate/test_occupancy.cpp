// SPDX-License-Identifier: BSD-3-Clause
// How much of the time ports and processors are busy, against their events.
#include "doctest.h"

#include <numeric>
#include <random>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/status.hpp"
#include "simulate/occupancy.hpp"
#include "simulate/times.hpp"

using namespace stretto;
using schedule::Position;
using schedule::Schedule;
using simulate::Event;
using simulate::Mode;
using simulate::Occupancy;
using simulate::Problem;

namespace {

double sum(const Occupancy::Shares &shares) {
    return std::accumulate(shares.begin(), shares.end(), 0.0);
}

Occupancy occupancy(const Schedule &schedule, Problem problem, std::vector<std::uint32_t> rows,
                    std::size_t columns) {
    problem.watch = nullptr;
    Occupancy result(schedule.ranks, std::move(rows), columns,
                     simulate::simulate(schedule, problem).makespan);
    problem.watch = [&](const Event &event) { result.add(event); };
    simulate::simulate(schedule, problem);
    return result;
}

} // namespace

TEST_CASE("ports of a ring are never idle, first with what is reduced") {
    Problem problem = test::units(Mode::posted, {}, 3);
    problem.network.gamma = 0;
    const Occupancy rows = occupancy(test::allreduce("ring", 3), problem, {0, 1, 2}, 4);
    CHECK(rows.to_reduce() == Occupancy::Shares{1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0});
    CHECK(rows.as_it_is() == Occupancy::Shares{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1});
    CHECK(sum(rows.reducing()) == 0);
    // A message ends amidst a column, and a row is of several positions.
    const Occupancy together = occupancy(test::allreduce("ring", 3), problem, {0, 1, 0}, 3);
    for (const std::size_t row : {0U, 3U}) {
        CHECK(together.to_reduce()[row] == doctest::Approx(1));
        CHECK(together.to_reduce()[row + 1] == doctest::Approx(0.5));
        CHECK(together.as_it_is()[row + 1] == doctest::Approx(0.5));
        CHECK(together.as_it_is()[row + 2] == doctest::Approx(1));
    }
}

TEST_CASE("busy time equals the length of the events for every grid") {
    std::mt19937 random(5);
    for (const algorithms::Algorithm &algorithm : algorithms::all())
        if (algorithm.runs(6))
            for (const std::size_t columns : {1, 7, 100}) {
                const Schedule schedule =
                    algorithms::make({.algorithm = &algorithm, .parameters = {}}, 6);
                CAPTURE(schedule.name);
                CAPTURE(columns);
                Problem problem = test::units(Mode::ordered, {},
                                              60 * static_cast<std::size_t>(schedule.blocks()));
                for (Position p = 0; p < schedule.ranks; ++p)
                    problem.arrivals.push_back(std::uniform_int_distribution<>(0, 300)(random));
                double to_reduce = 0, as_it_is = 0, reducing = 0;
                problem.watch = [&](const Event &event) {
                    (event.from == event.to ? reducing
                     : event.reduces        ? to_reduce
                                            : as_it_is) += event.end - event.start;
                };
                const double makespan = simulate::simulate(schedule, problem).makespan;
                const Occupancy busy = occupancy(schedule, problem, {0, 0, 1, 1, 2, 2}, columns);
                const double cell = 2 * makespan / static_cast<double>(columns);
                CHECK(sum(busy.to_reduce()) * cell == doctest::Approx(to_reduce));
                CHECK(sum(busy.as_it_is()) * cell == doctest::Approx(as_it_is));
                CHECK(sum(busy.reducing()) * cell == doctest::Approx(reducing));
                for (std::size_t at = 0; at < 3 * columns; ++at) {
                    CHECK(busy.to_reduce()[at] + busy.as_it_is()[at] <= 1.0001);
                    CHECK(busy.reducing()[at] <= 1.0001);
                }
            }
}

TEST_CASE("rows that do not fit are refused with a reason") {
    CHECK_THROWS_WITH_AS(Occupancy(3, {0, 1}, 4, 1.0), doctest::Contains("2 positions"), Error);
    CHECK_THROWS_WITH_AS(Occupancy(2, {0, 2}, 4, 1.0), doctest::Contains("no row 2"), Error);
    CHECK_THROWS_WITH_AS(Occupancy(2, {1, 1}, 4, 1.0), doctest::Contains("no position"), Error);
}
