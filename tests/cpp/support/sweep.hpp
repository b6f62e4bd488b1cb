// SPDX-License-Identifier: BSD-3-Clause
// Lets every single allocation of one rank fail.
#pragma once

#include "doctest.h"

#include <array>
#include <functional>
#include <latch>
#include <string>

#include "support/job.hpp"
#include "support/scarce.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

namespace test {

constexpr int kScarceRanks = 3;
constexpr int kPoor = 1; // the rank without memory

struct Outcome {
    std::array<stretto_status, kScarceRanks> status{};
    std::array<std::string, kScarceRanks> message;
    bool struck = false;
};

// Every n while they are few; then fewer, but for the full tier.
inline long after(long n) {
    return n + 1 + (full_tier() ? 0 : n / 12);
}

// Each rank calls `body` once; for the poor one the n-th allocation in it fails.
inline Outcome run_scarce(long n, const std::function<stretto_status(stretto_comm)> &body) {
    Outcome outcome;
    const std::string job = fresh_job();
    std::latch ready(kScarceRanks);
    on_threads(kScarceRanks, [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        stretto_comm comm = nullptr;
        check(stretto_init_explicit(rank, kScarceRanks, job.c_str(), &comm));
        check(stretto_barrier(comm)); // a later one takes no memory
        ready.arrive_and_wait();      // whoever is still in it would hear of what fails
        {
            const Scarce scarce(rank == kPoor ? n : -1);
            outcome.status[r] = body(comm);
            if (rank == kPoor)
                outcome.struck = scarce.struck();
        }
        outcome.message[r] = stretto_last_error();
        // It refuses, and can be left; what was done before is not lost.
        if (outcome.status[r] != STRETTO_OK && stretto_barrier(comm) == STRETTO_OK)
            outcome.message[r] += " [and the communicator works on]";
        check(stretto_finalize(&comm));
    });
    return outcome;
}

// Lets every allocation of `body` fail once; at least `least` there are.  Each time all ranks learn
// that rank 1 has no memory, by what `body` gives and a message with these words.
inline void sweep(long least, const std::function<stretto_status(stretto_comm)> &body,
                  const char *words = "rank 1") {
    long n = 0;
    for (;; n = after(n)) {
        const Outcome outcome = run_scarce(n, body);
        CAPTURE(n);
        for (std::size_t rank = 0; rank < kScarceRanks; ++rank) {
            CAPTURE(rank);
            CAPTURE(outcome.message[rank]);
            CHECK(outcome.status[rank] == (outcome.struck ? STRETTO_ERR_MEMORY : STRETTO_OK));
            CHECK(!contains(outcome.message[rank], "works on"));
            if (outcome.struck && rank != kPoor)
                CHECK(contains(outcome.message[rank], words));
        }
        if (!outcome.struck)
            break;
    }
    CHECK(n >= least);
}

} // namespace test
