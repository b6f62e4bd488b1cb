// SPDX-License-Identifier: BSD-3-Clause
// Times that papers print, or that another simulator of the same model gave.
#include "doctest.h"

#include <algorithm>
#include <cmath>

#include "algorithms/early_steps.hpp"
#include "schedule/verify.hpp"
#include "simulate/late_tables.hpp"
#include "simulate/times.hpp"
#include "support/golden.hpp"
#include "support/paper_schedules.hpp"

using namespace stretto;
using namespace stretto::test;
using schedule::Position;
using simulate::Mode;

namespace {

std::string chain(Position segments) {
    return "chain(segments=" + std::to_string(segments) + ")";
}

Position best_segments(const simulate::Network &network, std::size_t bytes, Position ranks) {
    return static_cast<Position>(std::lround(
        std::sqrt((ranks - 2) * network.beta * static_cast<double>(bytes) / network.alpha)));
}

// The pre-reduced ring for arrivals as they are estimated, positions in their order.
Schedule prr_for(const std::vector<double> &estimate_ms, const simulate::Network &network,
                 std::size_t bytes) {
    const auto ranks = static_cast<Position>(estimate_ms.size());
    const auto [alpha, beta, gamma] = network;
    const double step = algorithms::ring_step(ranks, bytes, alpha, beta, gamma);
    return pre_reduced_ring(algorithms::early_steps(estimate_ms, 1e3 * step));
}

// In units of a step.
Schedule prr_for(const std::vector<double> &arrivals) {
    return pre_reduced_ring(algorithms::early_steps(arrivals, 1));
}

// One byte takes one second.
simulate::Problem unit_time(std::size_t count, std::vector<double> arrivals,
                            Mode mode = Mode::posted) {
    simulate::Problem problem;
    problem.count = count;
    problem.element = 1;
    problem.network = {0, 1, 0};
    problem.arrivals = std::move(arrivals);
    problem.mode = mode;
    return problem;
}

} // namespace

TEST_CASE("the schedules written for these tests are allreduces") {
    for (const Position ranks : {1, 2, 3, 4, 5, 7, 8, 13, 16}) {
        CAPTURE(ranks);
        for (const Schedule &schedule : {chain_and_back(ranks, 3), generalized_cyclic(ranks)}) {
            const schedule::Verdict verdict = schedule::verify(schedule);
            CHECK(verdict.failure == "");
            CHECK(verdict.consistent);
        }
    }
}

TEST_CASE("a ring with synchronous arrivals takes the time that Proficz measured") {
    simulate::Problem real; // in blocks that differ by one element
    real.count = kMebi;
    real.network = kTryton;
    CHECK(as_printed(1e3 * simulate::simulate(allreduce("ring", 48), real).makespan, 67.78, 0.01));
    CHECK(as_printed(times(allreduce("ring", 48), 4 * kMebi, kTryton, one_late(48, 0, 0)).mean,
                     67.78, 0.01));
    CHECK(as_printed(times(allreduce("ring", 16), 4 * kMebi, kTryton, one_late(16, 0, 0)).mean,
                     45.70, 0.01));
}

TEST_CASE("one late rank: all sizes, ranks, delays and algorithms of the tables") {
    for (const LateTable &table : kLateTables) {
        const auto [network, bytes, ranks, ring_after, generalized_after, rows] = table;
        const auto run = [&, bytes = bytes, network = network](const Schedule &schedule,
                                                               const std::vector<double> &at) {
            return times(schedule, bytes, network, at);
        };
        CAPTURE(ranks);
        CAPTURE(bytes);
        CAPTURE(network.alpha);
        const Schedule ring = allreduce("ring", ranks);
        const Schedule rabenseifner = allreduce("rabenseifner", ranks);
        const Schedule linear_tree = allreduce(chain(ranks), ranks);
        const Schedule best_linear_tree =
            allreduce(chain(best_segments(network, bytes, ranks)), ranks);
        const Schedule generalized = generalized_cyclic(ranks);
        for (const LateRow &row : rows) {
            CAPTURE(row.late);
            const auto second = one_late(ranks, row.late, 1);
            const auto sorted = one_late(ranks, row.late, ranks - 1);

            const Times by_ring = run(ring, second);
            CHECK(as_printed(by_ring.mean, row.ring));
            CHECK(as_printed(by_ring.after, ring_after));
            CHECK(as_printed(run(rabenseifner, second).mean, row.rabenseifner));
            if (row.generalized != kOther) {
                const Times by_generalized = run(generalized, second);
                CHECK(as_printed(by_generalized.mean, row.generalized));
                CHECK(as_printed(by_generalized.after, generalized_after));
            }
            CHECK(as_printed(run(linear_tree, sorted).mean, row.chain));
            const Times by_best_chain = run(best_linear_tree, sorted);
            CHECK(as_printed(by_best_chain.mean, row.best_chain));
            CHECK(as_printed(by_best_chain.after, row.best_chain_after));
            const Times by_prr = run(prr_for(sorted, network, bytes), sorted);
            CHECK(as_printed(by_prr.mean, row.prr));
            CHECK(as_printed(by_prr.after, ring_after));
        }
    }
}

TEST_CASE("one rank 100 ms late, over the number of ranks (Proficz 2018, figure 12)") {
    struct Row {
        Position ranks;
        double ring, rabenseifner, generalized, chain, prr;
    };
    for (const Row &row :
         {Row{4, 105.8, 105.2, 105.2, 107.3, 104.5}, Row{6, 118.6, 146.3, 117.3, 116.5, 115.2},
          Row{8, 125.7, 123.1, 123.1, 121.4, 120.7}, Row{12, 134.0, 160.0, 129.5, 127.3, 126.9},
          Row{16, 139.4, 132.4, 132.4, 131.2, 130.9}, Row{24, 147.5, 167.3, 135.9, 136.9, 136.8},
          Row{28, 150.8, 171.5, 136.8, 139.4, 139.3}, Row{32, 154.0, 137.4, 137.4, 141.7, 141.7},
          Row{36, 157.1, 162.0, 138.5, 144.0, 143.9}, Row{40, 160.0, 165.7, 138.9, 146.2, 146.1},
          Row{48, 165.7, 171.2, 139.5, 150.4, 150.3}}) {
        CAPTURE(row.ranks);
        const auto second = one_late(row.ranks, 100, 1);
        const auto sorted = one_late(row.ranks, 100, row.ranks - 1);
        const auto mean = [&](const Schedule &schedule, const std::vector<double> &arrivals) {
            return times(schedule, 4 * kMebi, kTryton, arrivals).mean;
        };
        CHECK(as_printed(mean(allreduce("ring", row.ranks), second), row.ring));
        CHECK(as_printed(mean(allreduce("rabenseifner", row.ranks), second), row.rabenseifner));
        CHECK(as_printed(mean(generalized_cyclic(row.ranks), second), row.generalized));
        CHECK(as_printed(mean(allreduce(chain(row.ranks), row.ranks), sorted), row.chain));
        CHECK(as_printed(mean(prr_for(sorted, kTryton, 4 * kMebi), sorted), row.prr));
    }
}

TEST_CASE("the gain of the pre-reduced ring over the ring (Proficz 2018, table 4)") {
    constexpr double kLate[] = {0, 1, 5, 10, 50, 100, 500, 1000};
    struct Row {
        std::size_t kibi_floats;
        double saved[8];
    };
    for (const Row &row : {Row{128, {0.0, -0.7, -3.9, -6.5, -8.0, -8.0, -8.0, -8.0}},
                           Row{512, {0.0, -0.5, -4.0, -7.4, -11.1, -11.1, -11.1, -11.1}},
                           Row{1024, {0.0, -0.7, -3.8, -7.5, -15.4, -15.4, -15.4, -15.4}},
                           Row{2048, {0.0, 0.0, -4.0, -7.6, -23.8, -23.8, -23.8, -23.8}},
                           Row{4096, {0.0, 0.0, -3.5, -8.5, -32.5, -40.7, -40.7, -40.7}},
                           Row{8192, {0.0, 0.0, -3.2, -6.4, -36.5, -62.3, -74.6, -74.6}}}) {
        CAPTURE(row.kibi_floats);
        const std::size_t bytes = row.kibi_floats * 4 << 10;
        for (std::size_t i = 0; i < 8; ++i) {
            CAPTURE(kLate[i]);
            const auto arrivals = one_late(48, kLate[i], 47);
            const double pre_reduced =
                times(prr_for(arrivals, kTryton, bytes), bytes, kTryton, arrivals).mean;
            const double ring = times(allreduce("ring", 48), bytes, kTryton, arrivals).mean;
            CHECK(as_printed(pre_reduced - ring, row.saved[i]));
        }
    }
}

TEST_CASE("schedules made for other arrivals than the real ones") {
    struct Row {
        simulate::Network network;
        Position who; // is late, though position 47 was estimated to be, by 200 ms
        double late;
        double prr, chain;
    };
    for (const Row &row : {Row{kTryton, 47, 0, 86.0, 86.0}, Row{kTryton, 47, 10, 85.8, 85.8},
                           Row{kTryton, 47, 50, 101.4, 101.4}, Row{kTryton, 1, 10, 95.8, 95.8},
                           Row{kTryton, 1, 50, 135.0, 135.0}, Row{kTenG, 47, 0, 108.7, 108.7},
                           Row{kTenG, 47, 10, 108.5, 108.5}, Row{kTenG, 47, 50, 115.2, 115.3},
                           Row{kTenG, 1, 10, 118.5, 118.5}, Row{kTenG, 1, 50, 157.6, 157.7}}) {
        CAPTURE(row.network.alpha);
        CAPTURE(row.who);
        CAPTURE(row.late);
        const Schedule pre_reduced = prr_for(one_late(48, 200, 47), row.network, 4 * kMebi);
        const auto truth = one_late(48, row.late, row.who);
        CHECK(as_printed(times(pre_reduced, 4 * kMebi, row.network, truth).mean, row.prr));
        CHECK(as_printed(times(allreduce(chain(48), 48), 4 * kMebi, row.network, truth).mean,
                         row.chain));
    }
}

TEST_CASE("synchronous arrivals: the generalized allreduce and its rivals") {
    // Kolmakov & Zhang 2020, figure 1, in us.
    const auto microseconds = [](const Schedule &schedule, std::size_t bytes) {
        const std::vector<double> arrivals(static_cast<std::size_t>(schedule.ranks), 0);
        return 1e3 * times(schedule, bytes, kTenG, arrivals).after;
    };
    CHECK(as_printed(microseconds(generalized_cyclic(127), 64 << 10), 1733, 1));
    CHECK(as_printed(microseconds(allreduce("rabenseifner", 127), 64 << 10), 3047, 1));
    CHECK(as_printed(microseconds(generalized_cyclic(127), 4 * kMebi), 84478, 1));
    CHECK(as_printed(microseconds(allreduce("ring", 127), 4 * kMebi), 91618, 1));
    CHECK(as_printed(microseconds(allreduce("rabenseifner", 48), 355'000), 14478, 1));
}

TEST_CASE("run-ahead behind a late rank slows log-step algorithms, unless in lock step") {
    struct Row {
        Schedule schedule;
        Mode mode;
        double worst; // last finish after the late arrival, against balanced arrivals
    };
    // How much of it depends on which message a port takes first; that it is a lot does not.
    const std::vector<Row> rows = {
        {allreduce("ring", 48), Mode::posted, 1},     {allreduce("ring", 48), Mode::arrived, 1},
        {allreduce("ring", 48), Mode::eager, 1},      {generalized_cyclic(48), Mode::posted, 1},
        {generalized_cyclic(48), Mode::arrived, 1.5}, {generalized_cyclic(48), Mode::eager, 1.8}};
    for (const auto &[schedule, mode, least] : rows) {
        CAPTURE(schedule.name);
        CAPTURE(static_cast<int>(mode));
        const auto after = [&, &schedule = schedule, mode = mode](double late) {
            return times(schedule, 32 * kMebi, kTryton, one_late(48, late, 0), mode).after;
        };
        const double balanced = after(0);
        double worst = 0;
        for (const double late : {5, 50, 80, 95, 500})
            worst = std::max(worst, after(late) / balanced);
        CHECK(worst >= least - 1e-9);
        if (least == 1)
            CHECK(worst <= 1 + 1e-9);
    }
}

TEST_CASE("pre-reduced rings of the golden examples: shifts, messages, finish times") {
    const auto examples = golden("prr_examples");
    REQUIRE(examples.size() == 5);
    for (const auto &example : examples) {
        const std::vector<std::size_t> order = example.at("order");
        std::vector<double> arrivals;
        for (const std::size_t rank : order)
            arrivals.push_back(example.at("a").at(rank));
        const algorithms::Value ahead = algorithms::early_steps(arrivals, 1);
        CHECK(ahead == example.at("k").get<algorithms::Value>());

        const Schedule schedule = pre_reduced_ring(ahead);
        const schedule::Verdict verdict = schedule::verify(schedule);
        REQUIRE(verdict.failure == "");
        CHECK(verdict.consistent);
        const simulate::Timeline timeline =
            simulate::simulate(schedule, unit_time(order.size(), arrivals));
        for (std::size_t p = 0; p < order.size(); ++p) {
            const std::int64_t sends = example.at("sends_sorted").at(p);
            CHECK(verdict.accounting.positions[p].sends == sends);
            const double finish = example.at("finish").at(order[p]);
            CHECK(std::abs(timeline.finish[p] - finish) < 1e-9);
        }
    }
}

TEST_CASE("a pre-reduced ring saves (P-2)(P-3)/2P segments in the mean, nothing at the end") {
    for (const Position ranks : {2, 3, 4, 5, 7, 8, 13, 16, 48}) {
        CAPTURE(ranks);
        const double p = ranks;
        std::vector<double> arrivals(static_cast<std::size_t>(ranks), 0);
        arrivals.back() = 1000;
        const simulate::Problem problem = unit_time(static_cast<std::size_t>(ranks), arrivals);
        const auto ring = simulate::simulate(allreduce("ring", ranks), problem);
        const auto pre_reduced = simulate::simulate(prr_for(arrivals), problem);
        CHECK(ring.makespan == 1000 + 2 * (p - 1));
        CHECK(pre_reduced.makespan == ring.makespan);
        CHECK(ring.mean_elapsed - pre_reduced.mean_elapsed ==
              doctest::Approx((p - 2) * (p - 3) / (2 * p)).epsilon(1e-12));
        // The linear tree with as many segments is worse.
        const auto linear_tree = simulate::simulate(allreduce(chain(ranks), ranks), problem);
        CHECK(linear_tree.makespan == 1000 + 2 * p - 1);
    }
}

TEST_CASE("examples in units of one segment (Proficz 2018, figures 6 and 8)") {
    const auto play = [](const Schedule &schedule, std::vector<double> arrivals,
                         Mode mode = Mode::posted) {
        return simulate::simulate(schedule, unit_time(4, std::move(arrivals), mode));
    };
    // Figure 8, one of 4 late by 2.
    const simulate::Timeline ring = play(allreduce("ring", 4), {0, 0, 0, 2});
    CHECK(ring.makespan == 8);
    CHECK(ring.mean_elapsed == 7.5);
    const simulate::Timeline pre_reduced = play(prr_for({0, 0, 0, 2}), {0, 0, 0, 2});
    CHECK(pre_reduced.finish == std::vector<double>{8, 8, 8, 7});
    CHECK(pre_reduced.mean_elapsed == 7.25);
    // Figure 6, one of 4 late by 4: the first or the last of the chain.
    CHECK(play(allreduce(chain(4), 4), {4, 0, 0, 0}).makespan == 13);
    CHECK(play(allreduce(chain(4), 4), {0, 0, 0, 4}).makespan == 11);
    CHECK(play(chain_and_back(4, 4), {4, 0, 0, 0}).makespan == 15);
    CHECK(play(chain_and_back(4, 4), {0, 0, 0, 4}).makespan == 13);
    CHECK(play(allreduce(chain(4), 4), {4, 0, 0, 0}, Mode::eager).makespan == 13);
    CHECK(play(allreduce(chain(4), 4), {0, 0, 0, 4}, Mode::eager).makespan == 10);
}

TEST_CASE("segmented ring: two open receives overlap transfer and reduction, one does not") {
    // 8 ranks, 64 MiB, 56 Gbit/s.  alpha was not printed; 2 us fits all three numbers.
    const simulate::Network network = {2e-6, 1.43e-10, 1e-10};
    const auto last = [&](int segments, std::int32_t open) {
        Schedule schedule =
            allreduce("segmented_ring(segments=" + std::to_string(segments) + ")", 8);
        schedule.program = [program = schedule.program, open](Position p) {
            Program windowed = program(p);
            windowed.open.recv = open;
            return windowed;
        };
        return times(schedule, 64 * kMebi, network, std::vector<double>(8, 0), Mode::ordered).after;
    };
    CHECK(as_printed(last(1, 1), 22.69, 0.01));
    CHECK(as_printed(last(2, 1), 22.7));
    CHECK(as_printed(last(2, 2), 16.85, 0.01));
    CHECK(last(2, 0) == last(2, 2));
    // In lock step the window makes no difference.
    const Schedule two = allreduce("segmented_ring(segments=2)", 8);
    CHECK(as_printed(times(two, 64 * kMebi, network, std::vector<double>(8, 0)).after, 22.7));
}
