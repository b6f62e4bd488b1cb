// SPDX-License-Identifier: BSD-3-Clause
// Published and prototype numbers, reproduced: the measurements that Proficz prints (tables 3 and
// 4) were fitted by these parameters, and independent simulations of the same model gave these
// times.
#include "doctest.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/algorithm.hpp"
#include "schedule/verify.hpp"
#include "simulate/simulate.hpp"
#include "support/prr.hpp"

using namespace stretto;
using simulate::Mode;

namespace {

constexpr simulate::Network kTryton{0.32e-3, 4.49e-9, 2e-10};
constexpr simulate::Network kTenG{3e-5, 1e-8, 2e-10};
constexpr std::size_t kMega = 1 << 20; // floats

struct Times {
    double mean_ms, after_last_ms;
};

// One position comes `late` seconds after all others.
Times one_late(const schedule::Schedule &schedule, std::size_t count, double late,
               const simulate::Network &network, std::size_t position) {
    simulate::Problem problem;
    problem.count = count;
    problem.network = network;
    problem.mode = Mode::posted;
    problem.arrivals.assign(static_cast<std::size_t>(schedule.ranks), 0);
    problem.arrivals[position] = late;
    const simulate::Timeline timeline = simulate::simulate(schedule, problem);
    return {timeline.mean_elapsed * 1e3, (timeline.makespan - late) * 1e3};
}

schedule::Schedule make(const std::string &name, schedule::Position ranks) {
    return algorithms::make(algorithms::parse(schedule::Collective::allreduce, name), ranks);
}

bool near(double value, double expected) {
    return std::abs(value - expected) <= 0.0501;
}

constexpr double kDelays[] = {0, 1e-3, 5e-3, 10e-3, 50e-3, 100e-3, 500e-3, 1000e-3};

} // namespace

TEST_CASE("Proficz, table 3 in the model: 48 nodes, 1 Mi floats, one late") {
    constexpr double kRing[] = {67.8, 68.8, 72.7, 77.6, 116.7, 165.7, 557.4, 1046.9};
    constexpr double kRabenseifner[] = {73.3, 74.2, 78.2, 83.1, 122.2, 171.2, 562.8, 1052.4};
    constexpr double kLinearTree[] = {86.0, 86.0, 85.9, 85.8, 101.4, 150.4, 542.1, 1031.6};
    constexpr double kPreReduced[] = {67.8, 68.1, 68.9, 70.0, 101.4, 150.3, 542.0, 1031.6};
    const double tau = kTryton.alpha + (kTryton.beta + kTryton.gamma) * 4 * kMega / 48;
    for (std::size_t i = 0; i < std::size(kDelays); ++i) {
        const double late = kDelays[i];
        CAPTURE(late);
        CHECK(near(one_late(make("ring", 48), kMega, late, kTryton, 1).mean_ms, kRing[i]));
        CHECK(near(one_late(make("rabenseifner", 48), kMega, late, kTryton, 1).mean_ms,
                   kRabenseifner[i]));
        // The chain in order of arrival is the sorted linear tree.
        CHECK(near(one_late(make("chain(segments=48)", 48), kMega, late, kTryton, 47).mean_ms,
                   kLinearTree[i]));
        std::vector<double> arrivals(48, 0);
        arrivals.back() = late;
        CHECK(near(
            one_late(test::prr(test::prr_shifts(arrivals, tau)), kMega, late, kTryton, 47).mean_ms,
            kPreReduced[i]));
    }
    CHECK(one_late(make("ring", 48), kMega, 0, kTryton, 1).mean_ms ==
          doctest::Approx(67.78).epsilon(1e-4));
    CHECK(one_late(make("ring", 16), kMega, 0, kTryton, 1).mean_ms ==
          doctest::Approx(45.70).epsilon(1e-4));
}

TEST_CASE("the sweep over ranks of figure 12, 100 ms late") {
    struct Row {
        int ranks;
        double ring, rabenseifner;
    };
    for (const Row row : {Row{4, 105.8, 105.2}, Row{6, 118.6, 146.3}, Row{8, 125.7, 123.1},
                          Row{12, 134.0, 160.0}, Row{16, 139.4, 132.4}, Row{24, 147.5, 167.3},
                          Row{28, 150.8, 171.5}, Row{32, 154.0, 137.4}, Row{36, 157.1, 162.0},
                          Row{40, 160.0, 165.7}, Row{48, 165.7, 171.2}}) {
        CAPTURE(row.ranks);
        CHECK(near(one_late(make("ring", row.ranks), kMega, 0.1, kTryton, 1).mean_ms, row.ring));
        CHECK(near(one_late(make("rabenseifner", row.ranks), kMega, 0.1, kTryton, 1).mean_ms,
                   row.rabenseifner));
    }
}

TEST_CASE("other networks and sizes: mean elapsed and last finish after the late arrival") {
    struct Row {
        simulate::Network network;
        std::size_t count;
        int ranks;
        double late, ring, after, rabenseifner;
    };
    for (const Row &row : {Row{kTryton, kMega, 8, 0, 38.2, 38.2, 35.6},
                           Row{kTryton, kMega, 8, 0.02, 55.7, 38.2, 53.1},
                           Row{kTryton, 8 * kMega, 48, 0.1, 429.6, 331.7, 657.9},
                           Row{kTryton, kMega / 8, 48, 0.01, 44.6, 34.8, 22.2},
                           Row{kTenG, kMega, 16, 0.05, 127.2, 80.3, 126.5},
                           Row{kTenG, kMega, 48, 0.01, 95.6, 85.8, 163.0},
                           Row{kTenG, 8 * kMega, 16, 0.5, 1105.1, 636.3, 1104.4}}) {
        CAPTURE(row.ranks);
        CAPTURE(row.late);
        const Times ring = one_late(make("ring", row.ranks), row.count, row.late, row.network, 1);
        CHECK(near(ring.mean_ms, row.ring));
        CHECK(near(ring.after_last_ms, row.after));
        CHECK(near(
            one_late(make("rabenseifner", row.ranks), row.count, row.late, row.network, 1).mean_ms,
            row.rabenseifner));
    }
}

TEST_CASE("pre-reduced rings finish when the golden examples say") {
    std::ifstream file(STRETTO_TEST_DATA "/golden.json");
    const auto golden = nlohmann::json::parse(file);
    for (const auto &example : golden["prr_examples"]) {
        const std::vector<double> by_rank = example["a"];
        const std::vector<std::size_t> order = example["order"];
        simulate::Problem problem;
        problem.count = by_rank.size();
        problem.element = 1;
        problem.network = {0, 1, 0}; // one segment takes one unit
        problem.mode = Mode::posted;
        for (const std::size_t rank : order)
            problem.arrivals.push_back(by_rank[rank]);
        const std::vector<int> shifts = test::prr_shifts(problem.arrivals, 1);
        CHECK(shifts == example["k"].get<std::vector<int>>());
        const schedule::Schedule schedule = test::prr(shifts);
        const schedule::Verdict verdict = schedule::verify(schedule);
        CHECK_MESSAGE(verdict.ok, verdict.failure);
        CHECK(verdict.consistent);
        const std::vector<std::int64_t> sends = example["sends_sorted"];
        const auto timeline = simulate::simulate(schedule, problem);
        const std::vector<double> finish = example["finish"];
        for (std::size_t p = 0; p < order.size(); ++p) {
            CHECK(verdict.accounting.positions[p].sends == sends[p]);
            CHECK(timeline.finish[p] == doctest::Approx(finish[order[p]]));
        }
    }
}

TEST_CASE("unit-time examples at four ranks and segments: ring 8; linear tree 13, sorted 11") {
    simulate::Problem problem;
    problem.count = 4;
    problem.element = 1;
    problem.network = {0, 1, 0};
    problem.arrivals = {0, 0, 0, 2};
    CHECK(simulate::simulate(make("ring", 4), problem).makespan == doctest::Approx(8));
    problem.arrivals = {4, 0, 0, 0};
    CHECK(simulate::simulate(make("chain(segments=4)", 4), problem).makespan ==
          doctest::Approx(13));
    problem.arrivals = {0, 0, 0, 4};
    CHECK(simulate::simulate(make("chain(segments=4)", 4), problem).makespan ==
          doctest::Approx(11));
}
