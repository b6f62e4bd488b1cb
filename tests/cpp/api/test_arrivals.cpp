// SPDX-License-Identifier: BSD-3-Clause
// Ranks that come to calls at different times: right answers whatever is chosen for them, and the
// same choice on all ranks.
#include "doctest.h"

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/calls.hpp"
#include "support/environment.hpp"
#include "support/long_sums.hpp"
#include "support/statistics.hpp"
#include "support/survivors.hpp"
#include "support/text.hpp"
#include "support/threads.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using test::algorithm_of_long_sum;
using test::check;
using test::same_everywhere;
using test::wrong_after_long_sum;

namespace {

// Of all ranks, which are threads of this process.
auto threads_that_move_calls() {
    return std::ranges::count(test::threads(), "stretto-nbc");
}

void come_late(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// How many elements are wrong, of a broadcast and of a reduce.
int wrong_after_rooted(stretto_comm comm, int root, int turn) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    const auto of = [&](int who, std::size_t i) {
        return static_cast<double>((i + static_cast<std::size_t>(turn)) % 1000 + 7.0 * who);
    };
    std::vector<double> values(test::kLongSum), sums(test::kLongSum);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = of(rank, i);
    check(stretto_reduce(comm, values.data(), sums.data(), values.size(), STRETTO_FLOAT64,
                         STRETTO_SUM, root));
    check(stretto_broadcast(comm, values.data(), values.size(), STRETTO_FLOAT64, root));
    int wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        wrong += values[i] != of(root, i);
        wrong += rank == root && sums[i] != ranks * of(0, i) + 7.0 * (ranks * (ranks - 1) / 2);
    }
    return wrong;
}

// Whether an allreduce has had segments, which the arrivals gave it.
bool ran_in_segments(stretto_comm comm) {
    std::array<stretto_stat, 64> lines{};
    std::size_t number = 0;
    check(stretto_stats(comm, lines.data(), lines.size(), &number));
    return std::any_of(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(number),
                       [](const stretto_stat &line) {
                           return std::string_view(line.algorithm).starts_with("chain(segments=");
                       });
}

// How many elements are wrong, of three sums at once.  `blocks`: the first one is a blocking call.
int wrong_after_calls_in_flight(stretto_comm comm, int turn, bool blocks) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    const auto of = [&](std::size_t call, std::size_t i) {
        return static_cast<double>((i + call + static_cast<std::size_t>(turn)) % 1000);
    };
    std::array<std::vector<double>, 3> values;
    std::array<stretto_request, 3> requests{};
    for (std::size_t call = 0; call < values.size(); ++call) {
        values[call].resize(test::kLongSum);
        for (std::size_t i = 0; i < test::kLongSum; ++i)
            values[call][i] = rank + of(call, i);
    }
    for (std::size_t call = 0; call < values.size(); ++call)
        if (blocks && call == 0)
            check(stretto_allreduce(comm, STRETTO_IN_PLACE, values[call].data(), test::kLongSum,
                                    STRETTO_FLOAT64, STRETTO_SUM));
        else
            check(stretto_iallreduce(comm, STRETTO_IN_PLACE, values[call].data(), test::kLongSum,
                                     STRETTO_FLOAT64, STRETTO_SUM, &requests[call]));
    int wrong = 0;
    for (const std::size_t call : {2u, 0u, 1u}) { // the thread of a rank may wait for any first
        if (requests[call] != nullptr)
            check(stretto_wait(&requests[call]));
        for (std::size_t i = 0; i < test::kLongSum; ++i)
            wrong += values[call][i] != ranks * (ranks - 1) / 2 + ranks * of(call, i);
    }
    return wrong;
}

// Until then no rank knows when the others come.
void wait_for_clock(stretto_comm comm) {
    std::int64_t offset = 0;
    int known = 0;
    for (int tries = 0; tries < 5000 && known == 0; ++tries) {
        come_late(1);
        check(stretto_clock_offset(comm, &offset, &known));
    }
    check(stretto_barrier(comm));
}

std::vector<int> sizes(std::vector<int> all) {
    return test::sampled() ? std::vector{3} : all;
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
        CHECK(wrong_after_long_sum(comm, turn) == 0);
        if (turn % 8 == 5)
            CHECK(same_everywhere(comm, algorithm_of_long_sum(comm)));
    }
}

} // namespace

TEST_CASE("whatever ranks come late, the sums are right and the choice is one") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With no_trials("STRETTO_AUTOTUNE", "0");
    for (const int ranks : sizes({2, 3, 5}))
        test::with_ranks(ranks, [](stretto_comm comm) { play(comm, 48); });
}

TEST_CASE("late ranks and trials of candidates meet") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With soon("STRETTO_HEARTBEAT", "20ms");
    for (const int ranks : sizes({3, 5}))
        test::with_ranks(ranks, [](stretto_comm comm) { play(comm, 120); });
}

TEST_CASE("a late rank has its plan before any candidate is on trial") {
    if (!test::across_hosts())
        return; // there are no trials
    // With two ranks on a host a composition takes as little, whoever comes late.
    const test::With apart("STRETTO_FAKE_HOSTS", "a,b,c,d");
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With soon("STRETTO_HEARTBEAT", "20ms");
    test::with_ranks(4, [](stretto_comm comm) {
        wait_for_clock(comm);
        int turn = 0;
        const auto is_for_late_ranks = [&] {
            const std::string algorithm = algorithm_of_long_sum(comm);
            return std::ranges::any_of(
                std::vector{"chain", "pre_reduced_ring", "late_rooted", "stragglar",
                            "early_direct"},
                [&](std::string_view name) { return algorithm.starts_with(name); });
        };
        do {
            check(stretto_barrier(comm));
            if (stretto_rank(comm) == 1)
                come_late(80);
            CHECK(wrong_after_long_sum(comm, turn++) == 0);
        } while (turn < 13 && !is_for_late_ranks());
        CHECK(turn < 13);
    });
}

TEST_CASE("algorithms for late ranks play for the arrivals of the last calls") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With soon("STRETTO_HEARTBEAT", "20ms"); // clocks are known soon
    for (const char *name :
         {"chain", "pre_reduced_ring", "late_rooted", "stragglar", "early_direct"})
        test::with_ranks(4, [&](stretto_comm comm) {
            check(stretto_force_algorithm(comm, name));
            play(comm, 30);
            CHECK(algorithm_of_long_sum(comm).starts_with(name));
        });
}

TEST_CASE("the late rank, a different one each time, gets the last place") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With no_trials("STRETTO_AUTOTUNE", "0");
    const test::With soon("STRETTO_HEARTBEAT", "20ms");
    for (const int ranks : sizes({3, 5}))
        test::with_ranks(ranks, [ranks](stretto_comm comm) {
            std::mt19937 random(7); // the same on all ranks
            for (int turn = 0; turn < 48; ++turn) {
                // Then nobody is late any more, and then two are.
                const int late = static_cast<int>(random() % static_cast<unsigned>(ranks));
                const bool second = turn >= 40 && stretto_rank(comm) == (late + 1) % ranks;
                if ((turn < 32 || turn >= 40) && stretto_rank(comm) == late)
                    come_late(25);
                else if (second)
                    come_late(15);
                CHECK(wrong_after_long_sum(comm, turn) == 0);
                if (turn % 8 == 5)
                    CHECK(same_everywhere(comm, algorithm_of_long_sum(comm)));
            }
        });
}

TEST_CASE("parts reach all ranks, whichever rank is late") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With no_trials("STRETTO_AUTOTUNE", "0");
    const test::With soon("STRETTO_HEARTBEAT", "20ms");
    for (const char *name : {"", "late_last"})
        test::with_ranks(5, [name](stretto_comm comm) {
            if (*name != '\0')
                check(stretto_force_algorithm(comm, "allgather=late_last,auto"));
            constexpr std::size_t kPart = 30'011; // of int32
            const int ranks = stretto_size(comm), rank = stretto_rank(comm);
            std::mt19937 random(3); // the same on all ranks
            std::vector<std::int32_t> part(kPart), all(kPart * static_cast<std::size_t>(ranks));
            for (int turn = 0; turn < 30; ++turn) {
                const int late = turn < 15 ? 1 : static_cast<int>(random() % 5);
                if (rank == late)
                    come_late(15);
                for (std::size_t i = 0; i < kPart; ++i)
                    part[i] = rank * 1'000'000 + turn * 31'000 + static_cast<std::int32_t>(i);
                check(stretto_allgather(comm, part.data(), all.data(), kPart, STRETTO_INT32));
                int wrong = 0;
                for (std::size_t i = 0; i < all.size(); ++i)
                    wrong += all[i] != static_cast<std::int32_t>(i / kPart) * 1'000'000 +
                                           turn * 31'000 + static_cast<std::int32_t>(i % kPart);
                CHECK(wrong == 0);
            }
        });
}

TEST_CASE("one rank's vector and the sum at one rank are right, whichever rank is late") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With soon("STRETTO_HEARTBEAT", "20ms");
    for (const int ranks : sizes({3, 5}))
        test::with_ranks(ranks, [ranks](stretto_comm comm) {
            std::mt19937 random(static_cast<unsigned>(stretto_rank(comm)));
            for (int turn = 0; turn < 60; ++turn) {
                if (turn < 30 ? stretto_rank(comm) == 1 : random() % 4 == 0)
                    come_late(8);
                CHECK(wrong_after_rooted(comm, turn < 50 ? ranks - 1 : turn % ranks, turn) == 0);
            }
        });
}

TEST_CASE("a reduce and a broadcast are made for arrivals, which no call carries") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With soon("STRETTO_HEARTBEAT", "20ms");
    test::with_ranks(5, [](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "broadcast=chain,reduce=chain,auto"));
        check(stretto_stats_reset(comm));
        // What serves is decided for all, so all leave the loop together; on one host nobody
        // decides.
        const bool on_hosts = test::across_hosts();
        const int kMost = on_hosts ? 2000 : 20;
        int turn = 0;
        for (bool made = false; turn < kMost && !made; ++turn) {
            if (stretto_rank(comm) == 2)
                come_late(2);
            CHECK(wrong_after_rooted(comm, 0, turn) == 0);
            made = true;
            for (const char *collective : {"broadcast", "reduce"}) {
                const char *name = nullptr;
                check(stretto_chosen_algorithm(comm, collective, test::kLongSum, STRETTO_FLOAT64,
                                               &name));
                made = made && std::string_view(name).starts_with("chain(segments=");
            }
        }
        CHECK((turn < kMost) == on_hosts);
        CHECK(test::calls_in_statistics(comm) == 2 * turn);
    });
}

TEST_CASE("calls in flight are made for arrivals, also where other ranks make them block") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With soon("STRETTO_HEARTBEAT", "20ms");
    for (const bool mixed : {false, true})
        test::with_ranks(5, [mixed](stretto_comm comm) {
            check(stretto_force_algorithm(comm, "allreduce=chain,auto"));
            check(stretto_set_mixed(comm, mixed ? 1 : 0));
            const bool on_hosts = test::across_hosts();
            const int kMost = on_hosts ? 1000 : 10;
            int turn = 0;
            for (; turn < kMost && !ran_in_segments(comm); ++turn) {
                if (stretto_rank(comm) == 2)
                    come_late(2);
                const bool blocks = mixed && (turn + stretto_rank(comm)) % 3 == 0;
                CHECK(wrong_after_calls_in_flight(comm, turn, blocks) == 0);
            }
            CHECK((turn < kMost) == on_hosts);
            CHECK(same_everywhere(comm, std::to_string(turn)));
        });
}

TEST_CASE("no rank waits for another to start a call, whatever is decided for it") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    test::with_ranks(3, [](stretto_comm comm) {
        constexpr int kCalls = 60; // several decisions
        const int rank = stretto_rank(comm);
        for (int round = 0; round < 3; ++round) {
            std::vector<std::vector<double>> values(
                kCalls, std::vector<double>(test::kLongSum, rank + 1.0));
            std::vector<stretto_request> requests(kCalls);
            int token = 0; // each rank starts all its calls before the next one begins
            if (rank > 0)
                check(stretto_recv(comm, &token, 1, STRETTO_INT32, rank - 1, 0, nullptr));
            for (std::size_t call = 0; call < kCalls; ++call)
                check(stretto_iallreduce(comm, STRETTO_IN_PLACE, values[call].data(),
                                         test::kLongSum, STRETTO_FLOAT64, STRETTO_SUM,
                                         &requests[call]));
            if (rank < 2)
                check(stretto_send(comm, &token, 1, STRETTO_INT32, rank + 1, 0));
            for (stretto_request &request : requests)
                check(stretto_wait(&request));
            for (const std::vector<double> &sum : values)
                CHECK(std::ranges::count(sum, 6.0) == test::kLongSum);
        }
    });
}

TEST_CASE("arrival messages are in no statistics, and dropped plans are made again") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With no_trials("STRETTO_AUTOTUNE", "0");
    // With no memory at all for plans, what is told was planned for its call alone.
    for (const char *const bytes : {"1K", "0"}) {
        const test::With tiny("STRETTO_PLAN_BYTES", bytes);
        test::with_ranks(3, [](stretto_comm comm) {
            check(stretto_stats_reset(comm));
            constexpr int kCalls = 30;
            for (int turn = 0; turn < kCalls; ++turn) {
                if (stretto_rank(comm) == 2)
                    come_late(10);
                CHECK(wrong_after_long_sum(comm, turn) == 0);
            }
            CHECK(test::calls_in_statistics(comm) == kCalls);
        });
    }
}

TEST_CASE("arrival messages need no progress thread") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With no_trials("STRETTO_AUTOTUNE", "0");
    test::with_ranks(3, [](stretto_comm comm) {
        for (int turn = 0; turn < 6; ++turn)
            CHECK(wrong_after_long_sum(comm, turn) == 0);
        check(stretto_barrier(comm)); // all have made these calls
        CHECK(threads_that_move_calls() == 0);
        check(stretto_barrier(comm));
        stretto_request request = nullptr; // which does need one
        std::vector<double> values(test::kLongSum);
        check(stretto_iallreduce(comm, STRETTO_IN_PLACE, values.data(), values.size(),
                                 STRETTO_FLOAT64, STRETTO_SUM, &request));
        check(stretto_wait(&request));
        for (int tries = 0; tries < 5000 && threads_that_move_calls() == 0; ++tries)
            come_late(1); // it gives itself its name
        CHECK(threads_that_move_calls() > 0);
    });
}

TEST_CASE("ranks with a different call get an error that names the other call") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With no_trials("STRETTO_AUTOTUNE", "0");
    std::barrier all_left(3); // a failure that others post earlier ends the first call as well
    test::with_ranks(3, [&](stretto_comm comm) {
        CHECK(wrong_after_long_sum(comm, 0) == 0);
        all_left.arrive_and_wait();
        std::vector<double> values(test::kLongSum);
        const stretto_op op = stretto_rank(comm) == 1 ? STRETTO_MAX : STRETTO_SUM;
        CHECK(stretto_allreduce(comm, STRETTO_IN_PLACE, values.data(), values.size(),
                                STRETTO_FLOAT64, op) == STRETTO_ERR_MISMATCH);
        CHECK(test::contains(stretto_last_error(), "allreduce(131073 x float64, "));
        CHECK(!test::contains(stretto_last_error(), "nonblocking"));
    });
}
