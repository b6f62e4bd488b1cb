// SPDX-License-Identifier: BSD-3-Clause
// Ranks that tell how far their computation is: right answers whatever they tell, and the same
// choice on all ranks.
#include "doctest.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "support/environment.hpp"
#include "support/long_sums.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using test::check;

namespace {

void compute(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Each phase is as long as a rank likes; it tells the truth or not.
void play(stretto_comm comm, int calls) {
    std::mt19937 random(static_cast<unsigned>(stretto_rank(comm)) + 7);
    for (int turn = 0; turn < calls; ++turn) {
        check(stretto_phase_begin(comm));
        const bool usual = turn < calls / 3 || random() % 3 == 0;
        const int half = usual ? 2 : static_cast<int>(random() % 20);
        compute(half);
        check(stretto_edge(comm, 0.5));
        if (turn % 5 == 4) // misled, or mistaken
            check(stretto_edge(comm, 0.1 + static_cast<double>(random() % 90) / 100));
        compute(half);
        CHECK(test::wrong_after_long_sum(comm, turn) == 0);
        check(stretto_edge(comm, 1)); // too late to mean anything
        if (turn % 8 == 5)
            CHECK(test::same_everywhere(comm, test::algorithm_of_long_sum(comm)));
    }
}

} // namespace

TEST_CASE("with any announcements of phases, the sums are right and all ranks choose alike") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With no_trials("STRETTO_AUTOTUNE", "0");
    const test::With soon("STRETTO_HEARTBEAT", "20ms"); // clocks are known soon
    for (const int ranks : {1, 2, 3, 5})
        test::with_ranks(ranks, [](stretto_comm comm) { play(comm, 24); });
}

TEST_CASE("some ranks announce and some do not, and forced algorithms follow") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    const test::With soon("STRETTO_HEARTBEAT", "20ms");
    for (const char *name : {"chain", "pre_reduced_ring", "late_rooted"})
        test::with_ranks(4, [&](stretto_comm comm) {
            check(stretto_force_algorithm(comm, name));
            for (int turn = 0; turn < 16; ++turn) {
                if (stretto_rank(comm) == 2) {
                    check(stretto_phase_begin(comm));
                    compute(turn % 4 == 3 ? 12 : 1);
                    check(stretto_edge(comm, 0.5));
                    compute(turn % 4 == 3 ? 12 : 1);
                }
                CHECK(test::wrong_after_long_sum(comm, turn) == 0);
            }
            CHECK(test::algorithm_of_long_sum(comm).starts_with(name));
        });
}

TEST_CASE("callbacks of other threads announce while their rank waits in a call") {
    const test::With known("STRETTO_TUNING_FILE", "assumed");
    test::with_ranks(3, [](stretto_comm comm) {
        std::atomic<bool> over{false};
        std::thread callback([&] {
            while (!over)
                check(stretto_edge(comm, 0.3));
        });
        for (int turn = 0; turn < 20; ++turn) {
            check(stretto_phase_begin(comm));
            compute(stretto_rank(comm));
            CHECK(test::wrong_after_long_sum(comm, turn) == 0);
        }
        over = true;
        callback.join();
    });
}

TEST_CASE("a part of a phase is above 0 and at most 1") {
    test::with_ranks(1, [](stretto_comm comm) {
        check(stretto_phase_begin(comm));
        for (const double fraction : {0.0, -0.5, 1.01, std::nan("")}) {
            CHECK(stretto_edge(comm, fraction) == STRETTO_ERR_ARGUMENT);
            CHECK(test::contains(stretto_last_error(), "above 0 and at most 1"));
        }
        CHECK(stretto_edge(nullptr, 0.5) == STRETTO_ERR_ARGUMENT);
        CHECK(stretto_phase_begin(nullptr) == STRETTO_ERR_ARGUMENT);
    });
}
