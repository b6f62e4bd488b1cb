// SPDX-License-Identifier: BSD-3-Clause
// Times of the algorithms that leave late ranks out of what the early ones do first: by formula,
// and against those of others and the bound.
#include "doctest.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/assemble.hpp"
#include "simulate/times.hpp"

using namespace stretto;
using namespace stretto::test;
using algorithms::log2_ceil;
using schedule::Position;
using simulate::Mode;

namespace {

// 1 Gbit/s.
constexpr simulate::Network kGigabit = {60e-6, 8.4e-9, 2e-10};
constexpr std::size_t kVector = 4 << 20; // bytes

std::vector<double> last_late(Position ranks, Position late, double ms) {
    std::vector<double> arrivals(static_cast<std::size_t>(ranks), 0);
    std::fill(arrivals.end() - late, arrivals.end(), ms);
    return arrivals;
}

double after(const std::string &choice, Position ranks, Position late, double ms) {
    return times(allreduce(choice, ranks), kVector, kGigabit, last_late(ranks, late, ms),
                 Mode::ordered)
        .after;
}

} // namespace

TEST_CASE("StragglAR: n + ceil(log2 P) rounds after the late arrival, or one less") {
    constexpr simulate::Network network = {1e-3, 1e-6, 0};
    for (const Position ranks : {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 33, 48, 127})
        for (const Position blocks : {8, 16, 40, 41}) {
            CAPTURE(ranks);
            CAPTURE(blocks);
            const std::size_t bytes = 1024 * static_cast<std::size_t>(blocks);
            const double round = 1e3 * (network.alpha + network.beta * 1024);
            const double took =
                times(allreduce("stragglar(blocks=" + std::to_string(blocks) + ")", ranks), bytes,
                      network, last_late(ranks, 1, 5000), Mode::ordered)
                    .after;
            const double rounds = took / round;
            CHECK(rounds <= blocks + log2_ceil(ranks) + 1e-6);
            CHECK(rounds >= blocks + log2_ceil(ranks) - 1 - 1e-6);
        }
}

TEST_CASE("StragglAR: a round or two less than the late-rooted pipeline, but for reductions") {
    for (const Position ranks : {5, 8, 16, 48}) {
        CAPTURE(ranks);
        const double round = 1e3 * (kGigabit.alpha + kGigabit.beta * kVector / 48);
        const double reductions = 1e3 * kGigabit.gamma * kVector; // those of owners are in the way
        const double took = after("stragglar(blocks=48)", ranks, 1, 100);
        const double rooted = after("late_rooted(blocks=48)", ranks, 1, 100);
        CHECK(took > 1e3 * kGigabit.beta * kVector);
        CHECK(took < rooted - round + 1.2 * reductions);
        CHECK(took > rooted - 2.5 * round);
        CHECK(took < after("chain(segments=90)", ranks, 1, 100));
    }
}

TEST_CASE("several late ranks: early direct is done before all that are made for one") {
    for (const auto &[ranks, late] :
         std::vector<std::pair<Position, Position>>{{8, 2}, {16, 2}, {16, 4}, {48, 12}}) {
        CAPTURE(ranks);
        CAPTURE(late);
        const double direct =
            after("early_direct(owners=" + std::to_string(ranks - late) + ",segments=4)", ranks,
                  late, 100);
        CHECK(direct < after("late_rooted(blocks=50)", ranks, late, 100));
        CHECK(direct < after("chain(segments=100)", ranks, late, 100));
    }
}
