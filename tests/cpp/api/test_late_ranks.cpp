// SPDX-License-Identifier: BSD-3-Clause
// Ranks of one host, of which each time another comes late: right sums, and one choice.
#include "doctest.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "support/environment.hpp"
#include "support/long_sums.hpp"
#include "support/statistics.hpp"
#include "support/world.hpp"

using test::check;

namespace {

void come_late(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Not in place, misaligned, and of a count that no number of ranks divides.
int wrong_after_odd_sum(stretto_comm comm, int turn) {
    constexpr std::size_t kCount = 150'001; // of int32
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    std::vector<std::int32_t> values(kCount + 1), sums(kCount + 1, -1);
    const auto of = [&](int who, std::size_t i) {
        return static_cast<std::int32_t>((i + static_cast<std::size_t>(turn)) % 977) * (who + 1);
    };
    for (std::size_t i = 0; i < kCount; ++i)
        values[i + 1] = of(rank, i);
    check(stretto_allreduce(comm, values.data() + 1, sums.data() + 1, kCount, STRETTO_INT32,
                            STRETTO_SUM));
    int wrong = sums[0] != -1;
    for (std::size_t i = 0; i < kCount; ++i)
        wrong += sums[i + 1] != of(0, i) * (ranks * (ranks + 1) / 2);
    return wrong;
}

} // namespace

TEST_CASE("the missing rank gets the last place") {
    for (const int ranks : {3, 4, 5, 8, 13})
        test::with_ranks(ranks, [ranks](stretto_comm comm) {
            check(stretto_force_algorithm(comm, "late_last"));
            check(stretto_stats_reset(comm));
            std::mt19937 random(5); // the same on all ranks
            constexpr int kTurns = 12;
            for (int turn = 0; turn < kTurns; ++turn) {
                const int late = static_cast<int>(random() % static_cast<unsigned>(ranks));
                const bool second = turn % 6 == 5 && stretto_rank(comm) == (late + 1) % ranks;
                if (turn % 4 != 3 && (stretto_rank(comm) == late || second))
                    come_late(5);
                CHECK(test::wrong_after_long_sum(comm, turn) == 0);
                CHECK(wrong_after_odd_sum(comm, turn) == 0);
                CHECK(test::same_everywhere(comm, test::algorithm_of_long_sum(comm)));
            }
            CHECK(test::calls_in_statistics(comm) == 3 * kTurns);
        });
}

TEST_CASE("calls that are in flight, messages and small calls go on beside it") {
    test::with_ranks(4, [](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "late_last"));
        for (int turn = 0; turn < 12; ++turn) {
            std::vector<double> flying(1000, stretto_rank(comm));
            stretto_request request = nullptr;
            check(stretto_iallreduce(comm, STRETTO_IN_PLACE, flying.data(), flying.size(),
                                     STRETTO_FLOAT64, STRETTO_SUM, &request));
            if (stretto_rank(comm) == turn % 4) {
                // What is in flight ends although others wait for this rank in a later call.
                check(stretto_wait(&request));
                come_late(3);
            }
            CHECK(test::wrong_after_long_sum(comm, turn) == 0);
            if (request != nullptr)
                check(stretto_wait(&request));
            CHECK(flying[999] == 6);
        }
    });
}

TEST_CASE(
    "by itself it serves or not, and the sums are right; also with plans that are forgotten") {
    for (const char *bytes : {"64M", "1K", "0"}) {
        const test::With plans("STRETTO_PLAN_BYTES", bytes);
        test::with_ranks(3, [](stretto_comm comm) {
            for (int turn = 0; turn < 60; ++turn) {
                if (stretto_rank(comm) == turn / 5 % 3 && turn < 50)
                    come_late(4);
                CHECK(test::wrong_after_long_sum(comm, turn) == 0);
                if (turn % 8 == 5)
                    CHECK(test::same_everywhere(comm, test::algorithm_of_long_sum(comm)));
            }
        });
    }
}

TEST_CASE("in reproducible modes ranks do not wait for late-rank detection") {
    test::with_ranks(3, [](stretto_comm comm) {
        check(stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_RUN));
        for (int turn = 0; turn < 20; ++turn) {
            if (stretto_rank(comm) == 1)
                come_late(3);
            CHECK(test::wrong_after_long_sum(comm, turn) == 0);
            CHECK(test::algorithm_of_long_sum(comm) == "direct");
        }
    });
}
