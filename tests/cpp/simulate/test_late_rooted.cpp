// SPDX-License-Identifier: BSD-3-Clause
// Times of the late-rooted pipeline: by its formula, and by another simulator of the same model.
// Mode ordered keeps its rounds; the walk of mode posted waits for no send.
#include "doctest.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "algorithms/assemble.hpp"
#include "simulate/late_tables.hpp"
#include "simulate/times.hpp"

using namespace stretto;
using namespace stretto::test;
using algorithms::log2_ceil;
using schedule::Position;
using simulate::Mode;

namespace {

// The least seconds after the late arrival: (sqrt(beta m) + sqrt((q + 1) alpha))^2, or nearly.
Position best_blocks(const simulate::Network &network, std::size_t bytes, Position ranks) {
    const double vector = network.beta * static_cast<double>(bytes);
    return static_cast<Position>(
        std::lround(std::sqrt((log2_ceil(ranks - 1) + 1) * vector / network.alpha)));
}

schedule::Schedule late_rooted(Position ranks, Position blocks) {
    return allreduce("late_rooted(blocks=" + std::to_string(blocks) + ")", ranks);
}

// As the other simulator has it: a receive is posted when the one before it is reduced, so that the
// last position's reductions stand in the way of its transfers.
schedule::Schedule lock_step(schedule::Schedule schedule) {
    schedule.program = [program = schedule.program](Position p) {
        schedule::Program windowed = program(p);
        windowed.open.recv = 1;
        return windowed;
    };
    return schedule;
}

} // namespace

TEST_CASE("late-rooted pipeline: n + ceil(log2(P - 1)) + 1 rounds after the late arrival") {
    constexpr std::size_t bytes = 4096;
    constexpr simulate::Network network = {1e-3, 1e-6, 1e-8};
    for (const Position ranks : {2, 3, 4, 5, 8, 16, 17, 33, 48, 127})
        for (const Position blocks : {4, 16, 40})
            for (const double late : {500.0, 5000.0}) {
                CAPTURE(ranks);
                CAPTURE(blocks);
                const double block = static_cast<double>(bytes) / blocks;
                const double round = network.alpha + network.beta * block;
                const double reduction = network.gamma * block;
                const Position rounds = blocks + log2_ceil(ranks - 1) + 1;
                const auto after = [&](const schedule::Schedule &schedule) {
                    const auto arrivals = one_late(ranks, late, ranks - 1);
                    return times(schedule, bytes, network, arrivals, Mode::ordered).after;
                };
                const schedule::Schedule schedule = late_rooted(ranks, blocks);
                // The last position reduces a block while the next one comes.
                CHECK(after(schedule) ==
                      doctest::Approx(1e3 * (rounds * round + reduction)).epsilon(1e-8));
                CHECK(after(lock_step(schedule)) ==
                      doctest::Approx(1e3 * (rounds * round + blocks * reduction)).epsilon(1e-8));
            }
}

TEST_CASE("late-rooted pipeline: the tables, in ms") {
    struct Cell {
        simulate::Network network;
        std::size_t bytes;
        Position ranks;
        double late, mean, after;
    };
    const std::vector<Cell> cells = {
        {kTryton, 4 * kMebi, 4, 50, 65.8, 29.1},     {kTryton, 4 * kMebi, 8, 0, 52.3, 53.5},
        {kTryton, 4 * kMebi, 8, 10, 51.1, 43.5},     {kTryton, 4 * kMebi, 8, 20, 49.8, 33.5},
        {kTryton, 4 * kMebi, 8, 100, 117.1, 30.8},   {kTryton, 4 * kMebi, 16, 20, 53.3, 35.8},
        {kTryton, 4 * kMebi, 16, 1000, 968.5, 32.3}, {kTryton, 4 * kMebi, 48, 0, 58.4, 59.6},
        {kTryton, 4 * kMebi, 48, 10, 58.2, 49.6},    {kTryton, 4 * kMebi, 48, 100, 131.6, 34.9},
        {kTryton, 4 * kMebi, 48, 50, 82.7, 34.9},    {kTryton, 4 * kMebi, 48, 1000, 1012.9, 34.9},
        {kTryton, 32 * kMebi, 48, 0, 365.8, 368.6},  {kTryton, 32 * kMebi, 48, 500, 683.1, 196.4},
        {kTryton, kMebi / 2, 48, 0, 12.7, 13.3},     {kTryton, kMebi / 2, 48, 100, 106.6, 9.3},
        {kTenG, 4 * kMebi, 4, 50, 83.9, 46.8},       {kTenG, 4 * kMebi, 8, 0, 90.5, 91.1},
        {kTenG, 4 * kMebi, 8, 50, 90.7, 47.4},       {kTenG, 4 * kMebi, 16, 10, 91.6, 82.7},
        {kTenG, 4 * kMebi, 16, 100, 141.2, 47.9},    {kTenG, 4 * kMebi, 48, 0, 93.8, 94.2},
        {kTenG, 4 * kMebi, 48, 10, 93.6, 84.2},      {kTenG, 4 * kMebi, 48, 100, 146.4, 48.9},
        {kTenG, 32 * kMebi, 16, 0, 703.1, 704.4},    {kTenG, 32 * kMebi, 16, 500, 824.1, 356.6},
    };
    for (const Cell &cell : cells) {
        CAPTURE(cell.network.alpha);
        CAPTURE(cell.bytes);
        CAPTURE(cell.ranks);
        CAPTURE(cell.late);
        const Position blocks = best_blocks(cell.network, cell.bytes, cell.ranks);
        const Times t = times(lock_step(late_rooted(cell.ranks, blocks)), cell.bytes, cell.network,
                              one_late(cell.ranks, cell.late, cell.ranks - 1), Mode::ordered);
        if (cell.late >= 50) {
            CHECK(as_printed(t.mean, cell.mean));
            CHECK(as_printed(t.after, cell.after));
            continue;
        }
        // Where results wait for the others' reduction, our last position adds its own meanwhile;
        // that is up to gamma m seconds.
        const double hidden = 1e3 * cell.network.gamma * static_cast<double>(cell.bytes);
        CHECK(t.mean < cell.mean + 0.1);
        CHECK(t.mean > cell.mean - hidden - 0.1);
        CHECK(t.after < cell.after + 0.1);
        CHECK(t.after > cell.after - hidden - 0.1);
    }
}
