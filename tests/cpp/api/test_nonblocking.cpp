// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking and persistent calls, and the thread that moves them.
#include "doctest.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/exact.hpp"
#include "support/oracle.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using test::check;
using test::Collective;

TEST_CASE("calls overlap and are waited for in any order") {
    // A ring of 64 KiB is used again and again while earlier calls are in flight.
    for (const auto &[ranks, ring] : {std::pair{1, ""}, {2, ""}, {5, ""}, {2, "64K"}, {5, "64K"}}) {
        CAPTURE(ranks);
        CAPTURE(ring);
        setenv("STRETTO_RING_BYTES", ring, 1);
        test::with_ranks(ranks, [&, ranks = ranks](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            constexpr std::size_t kCalls = 12;
            std::vector<std::vector<double>> data(kCalls);
            std::vector<stretto_request> requests(kCalls);
            for (std::size_t k = 0; k < kCalls; ++k) {
                data[k].resize(k * k * 371);
                for (std::size_t i = 0; i < data[k].size(); ++i)
                    data[k][i] = test::contribution<double>(STRETTO_SUM, rank, i + k);
                check(stretto_iallreduce(comm, STRETTO_IN_PLACE, data[k].data(), data[k].size(),
                                         STRETTO_FLOAT64, STRETTO_SUM, &requests[k]));
            }
            // A blocking call between them takes its turn.
            std::int32_t one = 1;
            check(stretto_allreduce(comm, STRETTO_IN_PLACE, &one, 1, STRETTO_INT32, STRETTO_SUM));
            CHECK(one == ranks);
            for (std::size_t k = kCalls; k-- > 0;) {
                check(stretto_wait(&requests[k]));
                CHECK(requests[k] == nullptr);
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < data[k].size(); ++i)
                    wrong += data[k][i] != test::expected<double>(STRETTO_SUM, ranks, i + k);
                CHECK(wrong == 0);
            }
        });
    }
    unsetenv("STRETTO_RING_BYTES");
}

TEST_CASE("a blocking call does not match a nonblocking one") {
    CHECK_THROWS_WITH(
        test::with_ranks(2,
                         [](stretto_comm comm) {
                             std::int32_t one = 1;
                             stretto_request request = nullptr;
                             if (stretto_rank(comm) == 0) {
                                 check(stretto_allreduce(comm, STRETTO_IN_PLACE, &one, 1,
                                                         STRETTO_INT32, STRETTO_SUM));
                                 return;
                             }
                             check(stretto_iallreduce(comm, STRETTO_IN_PLACE, &one, 1,
                                                      STRETTO_INT32, STRETTO_SUM, &request));
                             check(stretto_wait(&request));
                         }),
        doctest::Contains("nonblocking allreduce(1 x int32, sum) on rank 1"));
}

TEST_CASE("a blocking call is a nonblocking one where calls are mixed") {
    for (const int ranks : {1, 2, 3, 5})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            check(stretto_set_mixed(comm, 1));
            const int rank = stretto_rank(comm);
            for (int k = 0; k < 20; ++k) {
                std::int64_t sum = rank + k;
                stretto_request request = nullptr;
                if ((rank + k) % 2 == 0) {
                    check(stretto_allreduce(comm, STRETTO_IN_PLACE, &sum, 1, STRETTO_INT64,
                                            STRETTO_SUM));
                    check(stretto_barrier(comm));
                } else {
                    check(stretto_iallreduce(comm, STRETTO_IN_PLACE, &sum, 1, STRETTO_INT64,
                                             STRETTO_SUM, &request));
                    check(stretto_wait(&request));
                    check(stretto_ibarrier(comm, &request));
                    check(stretto_wait(&request));
                }
                CHECK(sum == ranks * k + ranks * (ranks - 1) / 2);
            }
        });
}

// Watching memory that another thread writes is a race, and the point here.
#if !defined(__SANITIZE_THREAD__)
// Long ones it takes up at once, short ones when it has looked twice and nobody has come.
TEST_CASE("the progress thread finishes calls without a waiting caller") {
    for (const std::size_t count : {std::size_t{5}, std::size_t{20'011}, std::size_t{300'003}}) {
        CAPTURE(count);
        test::with_ranks(3, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            for (int again = 0; again < 3; ++again) {
                std::vector<float> data(count);
                for (std::size_t i = 0; i < data.size(); ++i)
                    data[i] = static_cast<float>(i % 1000 + static_cast<std::size_t>(rank));
                stretto_request request = nullptr;
                check(stretto_iallreduce(comm, STRETTO_IN_PLACE, data.data(), data.size(),
                                         STRETTO_FLOAT32, STRETTO_MAX, &request));
                // Rank 0 does not call into the library until its last element has changed.
                if (rank == 0) {
                    const float last = static_cast<float>((count - 1) % 1000 + 2);
                    const volatile float *watched = &data.back();
                    for (int tries = 0; tries < 20'000 && *watched != last; ++tries)
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    CHECK(*watched == last);
                }
                check(stretto_wait(&request));
            }
        });
    }
}
#endif

TEST_CASE("a test reports the end once") {
    test::with_ranks(2, [&](stretto_comm comm) {
        std::int64_t value = stretto_rank(comm) + 1;
        stretto_request request = nullptr;
        check(stretto_iallreduce(comm, STRETTO_IN_PLACE, &value, 1, STRETTO_INT64, STRETTO_SUM,
                                 &request));
        int done = 0;
        while (done == 0)
            check(stretto_test(&request, &done));
        CHECK(request == nullptr);
        CHECK(value == 3);
        check(stretto_test(&request, &done)); // an ended request stays ended
        CHECK(done == 1);
    });
}

TEST_CASE("a persistent allreduce is started as often as wanted") {
    test::with_ranks(4, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        std::vector<std::int32_t> send(5000), recv(5000);
        stretto_request request = nullptr;
        check(stretto_allreduce_init(comm, send.data(), recv.data(), send.size(), STRETTO_INT32,
                                     STRETTO_SUM, &request));
        for (int call = 0; call < 50; ++call) {
            for (std::size_t i = 0; i < send.size(); ++i)
                send[i] = call + rank + static_cast<int>(i);
            check(stretto_start(request));
            CHECK(stretto_start(request) == STRETTO_ERR_ARGUMENT); // it runs
            check(stretto_wait(&request));
            REQUIRE(request != nullptr);
            CHECK(recv[0] == 4 * call + 6);
            CHECK(recv[4999] == 4 * (call + 4999) + 6);
        }
        check(stretto_request_free(&request));
        CHECK(request == nullptr);
    });
}

TEST_CASE("every collective has a nonblocking form") {
    for (const int ranks : {1, 2, 3, 7})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            int turn = ranks;
            for (const auto collective :
                 {Collective::allreduce, Collective::reduce, Collective::broadcast,
                  Collective::reduce_scatter, Collective::allgather, Collective::gather,
                  Collective::scatter, Collective::alltoall})
                for (const std::size_t count : {0, 1, 101, 9'001})
                    for (int k = 0; k < 4; ++k) {
                        test::Call call;
                        call.collective = collective;
                        call.count = count;
                        call.nonblocking = true;
                        call.root = turn++ % ranks;
                        call.in_place = k % 2 == 1;
                        call.shared = turn / 2 % 2 == 1;
                        for (int r = 0; k >= 2 && test::takes_counts(collective) && r < ranks; ++r)
                            call.counts.push_back(count * static_cast<std::size_t>(r));
                        const std::string wrong = test::play(comm, call);
                        CHECK_MESSAGE(wrong == "", "rank ", stretto_rank(comm), " of ", ranks, ", ",
                                      label(call), ": ", wrong);
                    }
            stretto_request barrier = nullptr;
            check(stretto_ibarrier(comm, &barrier));
            check(stretto_wait(&barrier));
        });
}

// A rank that enters call 8 writes over what it has said of call 0, where another may be reading
// into which memory it is to store its part of the result of call 0.  In the full tier a million
// calls.
TEST_CASE("16 calls in flight store into their own outputs") {
    const int rounds = test::repeated(test::full_tier() ? 62'500 : test::sampled() ? 200 : 1'000);
    constexpr std::size_t kCalls = 16, kBlock = 8'192 / sizeof(float);
    for (const int ranks : {2, 3})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            check(stretto_force_algorithm(comm, "allreduce=direct"));
            const auto rank = static_cast<std::size_t>(stretto_rank(comm));
            const std::size_t count = kBlock * static_cast<std::size_t>(ranks);
            const auto memory = [&] {
                void *data = nullptr;
                check(stretto_alloc(comm, kCalls * count * sizeof(float), &data));
                return static_cast<float *>(data);
            };
            float *const sent = memory(), *const got = memory();
            // All elements of a call differ from those of the same place in the calls around it.
            const auto value = [](int round, std::size_t from, std::size_t i) {
                return static_cast<float>(
                    (i + 40'009 * static_cast<std::size_t>(round)) % 1'000'003 + from);
            };
            std::size_t wrong = 0;
            for (int round = 0; round < rounds; ++round) {
                for (std::size_t i = 0; i < kCalls * count; ++i)
                    sent[i] = value(round, rank, i);
                stretto_request requests[kCalls];
                for (std::size_t k = 0; k < kCalls; ++k)
                    check(stretto_iallreduce(comm, sent + k * count, got + k * count, count,
                                             STRETTO_FLOAT32, STRETTO_MAX, &requests[k]));
                for (stretto_request &request : requests)
                    check(stretto_wait(&request));
                for (std::size_t i = 0; i < kCalls * count; ++i)
                    wrong += got[i] != value(round, static_cast<std::size_t>(ranks) - 1, i);
            }
            CHECK(wrong == 0);
            check(stretto_barrier(comm));
            check(stretto_free(comm, sent));
            check(stretto_free(comm, got));
        });
}

TEST_CASE("alltoalls and gathers in flight at the same time") {
    for (const char *const ring : {"", "64K"}) {
        setenv("STRETTO_RING_BYTES", ring, 1);
        test::with_ranks(4, [](stretto_comm comm) {
            constexpr std::size_t kCalls = 8, kCount = 3'001;
            const auto rank = static_cast<std::size_t>(stretto_rank(comm));
            std::vector<std::vector<std::int32_t>> sent(kCalls), got(kCalls);
            std::vector<stretto_request> requests(kCalls);
            for (std::size_t k = 0; k < kCalls; ++k) {
                sent[k].resize(4 * kCount);
                got[k].resize(4 * kCount);
                for (std::size_t i = 0; i < sent[k].size(); ++i)
                    sent[k][i] = static_cast<std::int32_t>(k + 10 * rank + 100 * i);
                if (k % 2 == 0)
                    check(stretto_ialltoall(comm, sent[k].data(), got[k].data(), kCount,
                                            STRETTO_INT32, &requests[k]));
                else
                    check(stretto_igather(comm, sent[k].data(), got[k].data(), kCount,
                                          STRETTO_INT32, static_cast<int>(k % 4), &requests[k]));
            }
            for (std::size_t k = kCalls; k-- > 0;) {
                check(stretto_wait(&requests[k]));
                if (k % 2 == 1 && rank != k % 4)
                    continue;
                std::size_t wrong = 0;
                for (std::size_t i = 0; i < 4 * kCount; ++i) {
                    const std::size_t from = i / kCount;
                    const std::size_t place = i % kCount + (k % 2 == 0 ? rank * kCount : 0);
                    wrong += got[k][i] != static_cast<std::int32_t>(k + 10 * from + 100 * place);
                }
                CHECK(wrong == 0);
            }
        });
    }
    unsetenv("STRETTO_RING_BYTES");
}
