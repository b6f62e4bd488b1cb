// SPDX-License-Identifier: BSD-3-Clause
// No memory, at any place: an error on the rank that has none and on all others, never a hang, a
// crash or a wrong number.  One rank's n-th allocation fails, for every n up to where none is left.
#include "doctest.h"

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/environment.hpp"
#include "support/sweep.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using test::after;
using test::fresh_job;
using test::kPoor;
using test::sweep;
constexpr int kRanks = test::kScarceRanks;

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
    const test::With timeout("STRETTO_INIT_TIMEOUT", "0.1");
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
        CHECK(test::contains(stretto_last_error(), "failed in an earlier call"));
        test::check(stretto_finalize(&failing));
        CHECK(stretto_allreduce(whole, &mine, &sum, 1, STRETTO_FLOAT64, STRETTO_MAX) == STRETTO_OK);
        CHECK(sum == 2);
        test::check(stretto_finalize(&whole));
    });
}

TEST_CASE("a communicator made of others, of which one has no memory") {
    enum Way { split, split_by_rank_1, dup, create };
    for (const Way way : {split, split_by_rank_1, dup, create}) {
        if (way == dup && !test::full_tier()) // as split
            continue;
        CAPTURE(way);
        const std::array<int, kRanks> ranks = {2, 1, 0};
        // The child is complete on all or on none who hear of it; the parent has failed.
        sweep(
            20,
            [&](stretto_comm comm) {
                stretto_comm child = nullptr;
                const int rank = stretto_rank(comm);
                const stretto_status made =
                    way == dup ? stretto_comm_dup(comm, &child)
                    : way == create
                        ? stretto_comm_create(comm, ranks.data(), kRanks, 0, &child)
                        : stretto_comm_split(comm, 3, way == split ? rank : (rank + 2) % kRanks,
                                             &child);
                CHECK((made == STRETTO_OK) == (child != nullptr));
                const stretto_status after_it = made == STRETTO_OK ? stretto_barrier(comm) : made;
                if (child != nullptr) {
                    // To other hosts a rank says good-bye if it can; without memory for that, the
                    // links close, which is no error of its own.
                    if (std::getenv("STRETTO_ADDR") != nullptr)
                        test::allocations_left = -1;
                    const std::string kept = stretto_last_error();
                    test::check(stretto_finalize(&child));
                    CHECK(kept == stretto_last_error());
                }
                return after_it;
            },
            way == split_by_rank_1 ? "no memory" : "rank 1"); // there it is rank 0 of the child
    }
}

TEST_CASE("operations are made in full or not at all") {
    const auto add = [](const void *in, void *inout, std::size_t count, stretto_dtype, void *) {
        for (std::size_t i = 0; i < count; ++i)
            static_cast<int *>(inout)[i] += static_cast<const int *>(in)[i];
    };
    const double half = 0.5;
    bool struck = true;
    for (long n = 0; struck; ++n) {
        constexpr auto kNone = STRETTO_LXOR; // what is never made
        stretto_op sum = kNone, scaled = kNone;
        {
            const test::Scarce scarce(n);
            const stretto_status first = stretto_op_create(add, nullptr, 1, &sum);
            const stretto_status second =
                stretto_op_create_premul_sum(&half, STRETTO_FLOAT64, &scaled);
            struck = scarce.struck();
            CHECK((first == STRETTO_OK) == (sum != kNone));
            CHECK((second == STRETTO_OK) == (scaled != kNone));
            CHECK((first == STRETTO_ERR_MEMORY || second == STRETTO_ERR_MEMORY) == struck);
        }
        if (sum != kNone) {
            int mine = 7, result = 0;
            test::with_ranks(1, [&](stretto_comm comm) {
                test::check(stretto_allreduce(comm, &mine, &result, 1, STRETTO_INT32, sum));
            });
            CHECK(result == 7);
            test::check(stretto_op_free(sum));
        }
        if (scaled != kNone)
            test::check(stretto_op_free(scaled));
    }
}
