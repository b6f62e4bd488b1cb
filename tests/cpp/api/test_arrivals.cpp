// SPDX-License-Identifier: BSD-3-Clause
// Ranks that come to calls at different times: right answers whatever is chosen for them, and the
// same choice on all ranks.
#include "doctest.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/calls.hpp"
#include "support/environment.hpp"
#include "support/statistics.hpp"
#include "support/survivors.hpp"
#include "support/world.hpp"

using test::check;

namespace {

constexpr std::size_t kCount = 131'073; // of float64: long enough for arrivals to be watched

std::string algorithm(stretto_comm comm) {
    const char *name = nullptr;
    check(stretto_chosen_algorithm(comm, "allreduce", kCount, STRETTO_FLOAT64, &name));
    return name;
}

// Sums of small integers, which are exact.
int wrong_after_sum(stretto_comm comm, int turn) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    std::vector<double> values(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
        values[i] = static_cast<double>(rank) +
                    static_cast<double>((i + static_cast<std::size_t>(turn)) % 1000);
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, values.data(), kCount, STRETTO_FLOAT64,
                            STRETTO_SUM));
    int wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i)
        wrong += values[i] !=
                 ranks * (ranks - 1) / 2 +
                     ranks * static_cast<double>((i + static_cast<std::size_t>(turn)) % 1000);
    return wrong;
}

bool same_everywhere(stretto_comm comm, const std::string &name) {
    const auto hash = static_cast<std::int64_t>(std::hash<std::string>()(name) >> 8);
    std::array<std::int64_t, 2> both = {hash, -hash};
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, both.data(), 2, STRETTO_INT64, STRETTO_MAX));
    return both[0] == -both[1];
}

void come_late(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// One rank late for a while, then another, then all at random.
void play(stretto_comm comm, int calls) {
    std::mt19937 random(static_cast<unsigned>(stretto_rank(comm)));
    for (int turn = 0; turn < calls; ++turn) {
        const int late = turn < calls / 3 ? 1 : 0;
        if (turn >= 2 * calls / 3)
            come_late(static_cast<int>(random() % 8));
        else if (stretto_rank(comm) == late)
            come_late(12);
        CHECK(wrong_after_sum(comm, turn) == 0);
        if (turn % 8 == 5)
            CHECK(same_everywhere(comm, algorithm(comm)));
    }
}

} // namespace

TEST_CASE("whatever ranks come late, the sums are right and the choice is one") {
    const test::With on("STRETTO_ARRIVALS", "1");
    const test::With known("STRETTO_PROFILE", "assumed");
    const test::With no_trials("STRETTO_TRIALS", "0");
    for (const int ranks : {2, 3, 5})
        test::with_ranks(ranks, [](stretto_comm comm) { play(comm, 48); });
}

TEST_CASE("algorithms for late ranks play for the arrivals of the last calls") {
    const test::With on("STRETTO_ARRIVALS", "1");
    const test::With known("STRETTO_PROFILE", "assumed");
    const test::With soon("STRETTO_HEARTBEAT", "20ms"); // clocks are known soon
    for (const char *name : {"chain", "pre_reduced_ring", "late_rooted"})
        test::with_ranks(4, [&](stretto_comm comm) {
            check(stretto_force_algorithm(comm, name));
            play(comm, 30);
            CHECK(algorithm(comm).starts_with(name));
        });
}

TEST_CASE("nobody counts what is told of arrivals, and plans that are forgotten come back") {
    const test::With on("STRETTO_ARRIVALS", "1");
    const test::With known("STRETTO_PROFILE", "assumed");
    const test::With no_trials("STRETTO_TRIALS", "0");
    const test::With tiny("STRETTO_PLAN_BYTES", "1K");
    test::with_ranks(3, [](stretto_comm comm) {
        check(stretto_stats_reset(comm));
        constexpr int kCalls = 30;
        for (int turn = 0; turn < kCalls; ++turn) {
            if (stretto_rank(comm) == 2)
                come_late(10);
            CHECK(wrong_after_sum(comm, turn) == 0);
        }
        CHECK(test::calls_in_statistics(comm) == kCalls);
    });
}
