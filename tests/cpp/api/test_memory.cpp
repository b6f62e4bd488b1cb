// SPDX-License-Identifier: BSD-3-Clause
// No memory, at any place: an error on the rank that has none and on all others, never a hang, a
// crash or a wrong number.  One rank's n-th allocation fails, for every n up to where none is left.
#include "support/scarce.hpp"

#include "doctest.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "support/tier.hpp"
#include "support/world.hpp"

namespace {

constexpr int kRanks = 3;
constexpr int kPoor = 1; // the rank without memory

struct Outcome {
    std::array<stretto_status, kRanks> status{};
    std::array<std::string, kRanks> message;
    bool struck = false;
};

// Every n while they are few; then fewer, but for the full tier.
long after(long n) {
    return n + 1 + (test::full_tier() ? 0 : n / 12);
}

std::string fresh_job() {
    static std::atomic<int> jobs{0};
    return "scarce-" + std::to_string(getpid()) + "-" + std::to_string(jobs++);
}

// Each rank calls `body` once; for the poor one the n-th allocation in it fails.
Outcome run(long n, const std::function<stretto_status(stretto_comm)> &body) {
    Outcome outcome;
    const std::string job = fresh_job();
    test::on_threads(kRanks, [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        stretto_comm comm = nullptr;
        test::check(stretto_init_explicit(rank, kRanks, job.c_str(), &comm));
        {
            const test::Scarce scarce(rank == kPoor ? n : -1);
            outcome.status[r] = body(comm);
            if (rank == kPoor)
                outcome.struck = scarce.struck();
        }
        outcome.message[r] = stretto_last_error();
        if (outcome.status[r] != STRETTO_OK) {
            // It refuses, and can be left; what was done before is not lost.
            const stretto_status again = stretto_barrier(comm);
            if (again == STRETTO_OK)
                outcome.message[r] += " [and the communicator works on]";
        }
        test::check(stretto_finalize(&comm));
    });
    return outcome;
}

// Lets every allocation of `body` fail once; at least `least` there are.
void sweep(long least, const std::function<stretto_status(stretto_comm)> &body) {
    long n = 0;
    for (;; n = after(n)) {
        const Outcome outcome = run(n, body);
        CAPTURE(n);
        if (!outcome.struck) {
            for (const stretto_status status : outcome.status)
                CHECK(status == STRETTO_OK);
            break;
        }
        CHECK(outcome.status[kPoor] == STRETTO_ERR_MEMORY);
        for (std::size_t rank = 0; rank < kRanks; ++rank) {
            CAPTURE(rank);
            CAPTURE(outcome.message[rank]);
            CHECK(outcome.status[rank] == STRETTO_ERR_MEMORY);
            CHECK(outcome.message[rank].find("works on") == std::string::npos);
            if (rank != kPoor)
                CHECK(outcome.message[rank].find("rank 1") != std::string::npos);
        }
    }
    CHECK(n >= least);
}

std::vector<float> ones(std::size_t count) {
    return std::vector<float>(count, 1);
}

} // namespace

TEST_CASE("a collective on a rank without memory") {
    for (const std::size_t count : {std::size_t{1}, std::size_t{50'000}}) {
        CAPTURE(count);
        std::array<std::vector<float>, kRanks> send, recv;
        send.fill(ones(count));
        recv.fill(ones(count));
        sweep(20, [&](stretto_comm comm) {
            const auto rank = static_cast<std::size_t>(stretto_rank(comm));
            return stretto_allreduce(comm, send[rank].data(), recv[rank].data(), count,
                                     STRETTO_FLOAT32, STRETTO_SUM);
        });
    }
}

TEST_CASE("a nonblocking collective on a rank without memory") {
    std::array<std::vector<float>, kRanks> send, recv;
    send.fill(ones(1000));
    recv.fill(ones(1000));
    sweep(20, [&](stretto_comm comm) {
        const auto rank = static_cast<std::size_t>(stretto_rank(comm));
        stretto_request request = nullptr;
        stretto_status status = stretto_iallreduce(comm, send[rank].data(), recv[rank].data(), 1000,
                                                   STRETTO_FLOAT32, STRETTO_SUM, &request);
        CHECK((status == STRETTO_OK) == (request != nullptr));
        if (status == STRETTO_OK)
            status = stretto_wait(&request);
        return status;
    });
}

TEST_CASE("a persistent collective on a rank without memory") {
    std::array<std::vector<float>, kRanks> send, recv;
    send.fill(ones(100));
    recv.fill(ones(100));
    sweep(20, [&](stretto_comm comm) {
        const auto rank = static_cast<std::size_t>(stretto_rank(comm));
        stretto_request request = nullptr;
        stretto_status status = stretto_allreduce_init(comm, send[rank].data(), recv[rank].data(),
                                                       100, STRETTO_FLOAT32, STRETTO_SUM, &request);
        if (status == STRETTO_OK)
            status = stretto_start(request);
        if (status == STRETTO_OK)
            status = stretto_wait(&request);
        return status;
    });
}

TEST_CASE("a job in which one rank has no memory to join") {
    // What fails before the rank has called rank 0 is a rank that never comes.
    setenv("STRETTO_INIT_TIMEOUT", "0.1", 1);
    for (const int poor : {0, 1}) {
        CAPTURE(poor);
        for (long n = 0;; n = after(n)) {
            CAPTURE(n);
            std::array<stretto_status, kRanks> status{};
            bool struck = false;
            const std::string job = fresh_job();
            test::on_threads(kRanks, [&](int rank) {
                const auto r = static_cast<std::size_t>(rank);
                stretto_comm comm = nullptr;
                {
                    const test::Scarce scarce(rank == poor ? n : -1);
                    status[r] = stretto_init_explicit(rank, kRanks, job.c_str(), &comm);
                    if (rank == poor)
                        struck = scarce.struck();
                }
                CHECK((status[r] == STRETTO_OK) == (comm != nullptr));
                // Whoever is in learns at the first call that another is not.
                if (status[r] == STRETTO_OK) {
                    status[r] = stretto_barrier(comm);
                    test::check(stretto_finalize(&comm));
                }
            });
            if (!struck)
                break;
            for (std::size_t rank = 0; rank < kRanks; ++rank) {
                CAPTURE(rank);
                CHECK(status[rank] != STRETTO_OK);
                CHECK(status[rank] != STRETTO_ERR_INTERNAL);
            }
            CHECK(status[static_cast<std::size_t>(poor)] == STRETTO_ERR_MEMORY);
        }
    }
    unsetenv("STRETTO_INIT_TIMEOUT");
}

TEST_CASE("other communicators of the process go on") {
    const std::string first = fresh_job(), second = fresh_job();
    test::on_threads(kRanks, [&](int rank) {
        stretto_comm failing = nullptr, whole = nullptr;
        test::check(stretto_init_explicit(rank, kRanks, first.c_str(), &failing));
        test::check(stretto_init_explicit(rank, kRanks, second.c_str(), &whole));
        double mine = rank, sum = -1;
        {
            const test::Scarce scarce(rank == kPoor ? 5 : -1);
            CHECK(stretto_allreduce(failing, &mine, &sum, 1, STRETTO_FLOAT64, STRETTO_SUM) ==
                  STRETTO_ERR_MEMORY);
        }
        CHECK(stretto_allreduce(whole, &mine, &sum, 1, STRETTO_FLOAT64, STRETTO_SUM) == STRETTO_OK);
        CHECK(sum == 3);
        // The failure was told once; from then on the call is refused for it.
        CHECK(stretto_barrier(failing) == STRETTO_ERR_REVOKED);
        CHECK(std::string(stretto_last_error()).find("failed in an earlier call") !=
              std::string::npos);
        test::check(stretto_finalize(&failing));
        CHECK(stretto_allreduce(whole, &mine, &sum, 1, STRETTO_FLOAT64, STRETTO_MAX) == STRETTO_OK);
        CHECK(sum == 2);
        test::check(stretto_finalize(&whole));
    });
}
