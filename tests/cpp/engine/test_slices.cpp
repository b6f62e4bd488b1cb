// SPDX-License-Identifier: BSD-3-Clause
// One rule cuts blocks into slices: what prices count is what the engine sends.
#include "doctest.h"

#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "cost/price.hpp"
#include "engine/lower.hpp"
#include "schedule/slices.hpp"

using namespace stretto;
using schedule::Collective;
using schedule::kNoJoin;
using schedule::slice_length;
using schedule::slices_begun;

static_assert(slices_begun(0, kNoJoin, 64) == 0 && slices_begun(0, 0, 64) == 0);
static_assert(slices_begun(20, 60, 64) == 0 && slices_begun(20, 65, 64) == 1);
static_assert(slices_begun(64, kNoJoin, 64) == 1 && slices_begun(65, kNoJoin, 64) == 2);
static_assert(slices_begun(150, 160, 64) == 3);
static_assert(slices_begun(150, kNoJoin, kNoJoin) == 1); // uncut
static_assert(slice_length(0, 65536, 4) == 0);
static_assert(slice_length(153600, 65536, 4) == 51200);  // 150 KiB in three
static_assert(slice_length(153604, 65536, 4) == 51264);  // on the next cache line
static_assert(slice_length(153600, 65536, 12) == 51204); // whole elements
static_assert(slice_length(20, 65536, 4) == 64);

TEST_CASE("prices count the slices that the engine sends") {
    // The blocks of a message of scatter are neighbours in memory on both sides.
    std::minstd_rand random(11);
    for (const char *algorithm : {"binomial", "linear"})
        for (const schedule::Position ranks : {2, 5, 8, 13})
            for (int turn = 0; turn < 60; ++turn) {
                std::vector<std::uint64_t> counts; // empty, short, and of up to eight slices
                for (schedule::Position rank = 0; rank < ranks; ++rank)
                    counts.push_back(random() % (random() % 3 == 0 ? 500 : 1 + random() % 40));
                const schedule::Schedule schedule = algorithms::make(
                    algorithms::parse(Collective::scatter, algorithm), ranks, 0, counts);
                engine::LowerOptions options;
                options.count = std::reduce(counts.begin(), counts.end());
                options.slice = 256;
                options.fuse = false;
                std::size_t sent = 0;
                for (const auto &publishes : lower(schedule, options).publishes)
                    for (const engine::Publish &publish : publishes)
                        sent += publish.readers.size();
                const cost::Price price = cost::price(schedule, options.count, options.element,
                                                      options.slice, cost::Network{});
                CHECK_MESSAGE(price.pieces == static_cast<double>(sent), algorithm, ", ", ranks,
                              " ranks, turn ", turn);
            }
}
