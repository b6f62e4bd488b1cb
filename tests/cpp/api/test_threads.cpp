// SPDX-License-Identifier: BSD-3-Clause
// Several threads of a rank that call collectives of one communicator.
#include "doctest.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/on_threads.hpp"
#include "support/threads_of_rank.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using test::await;
using test::await_signal;
using test::Beside;
using test::check;
using test::kLongSeconds;
using test::signal;
using test::Watched;

namespace {

void start_sum(stretto_comm comm, std::vector<std::int32_t> &data, stretto_request *request) {
    check(stretto_iallreduce(comm, STRETTO_IN_PLACE, data.data(), data.size(), STRETTO_INT32,
                             STRETTO_SUM, request));
}
void sum(stretto_comm comm, std::vector<std::int32_t> &data) {
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, data.data(), data.size(), STRETTO_INT32,
                            STRETTO_SUM));
}
std::vector<std::int32_t> ones(std::size_t count) {
    std::vector<std::int32_t> data(count);
    for (std::size_t i = 0; i < count; ++i)
        data[i] = static_cast<std::int32_t>(i % 1000 + 1);
    return data;
}
std::size_t wrong(const std::vector<std::int32_t> &data, int ranks) {
    std::size_t result = 0;
    for (std::size_t i = 0; i < data.size(); ++i)
        result += data[i] != ranks * static_cast<std::int32_t>(i % 1000 + 1);
    return result;
}

// A long one is urgent to the progress thread.
constexpr std::array<std::size_t, 2> kCounts{3, 300'001};

} // namespace

// The other rank makes its calls only when the second one has been started here.
TEST_CASE("a thread that waits for a request does not hold up one that starts a call") {
    for (const std::size_t count : kCounts)
        test::with_ranks(2, [&](stretto_comm comm) {
            check(stretto_set_timeout(comm, kLongSeconds));
            std::vector<std::int32_t> first = ones(count), second = ones(7);
            stretto_request one = nullptr, two = nullptr;
            if (stretto_rank(comm) == 1) {
                await_signal(comm, 0);
                start_sum(comm, first, &one);
                start_sum(comm, second, &two);
                check(stretto_wait(&two));
                check(stretto_wait(&one));
            } else {
                std::atomic<bool> inside{false};
                start_sum(comm, first, &one);
                Beside waiter([&] {
                    const Watched watched(inside);
                    check(stretto_wait(&one));
                });
                await(inside);
                start_sum(comm, second, &two);
                signal(comm, 1);
                check(stretto_wait(&two));
                waiter.join();
            }
            CHECK(wrong(first, 2) == 0);
            CHECK(wrong(second, 2) == 0);
        });
}

TEST_CASE("a thread in a blocking call does not hold up one that starts a call") {
    for (const bool before : {false, true}) // whether there is a progress thread already
        for (const std::size_t count : kCounts)
            test::with_ranks(2, [&](stretto_comm comm) {
                check(stretto_set_timeout(comm, kLongSeconds));
                std::vector<std::int32_t> first = ones(count), second = ones(7), third = ones(9);
                stretto_request two = nullptr;
                if (before) {
                    start_sum(comm, third, &two);
                    check(stretto_wait(&two));
                    third = ones(9);
                }
                if (stretto_rank(comm) == 1) {
                    await_signal(comm, 0);
                    sum(comm, first);
                    start_sum(comm, second, &two);
                    check(stretto_wait(&two));
                } else {
                    std::atomic<bool> inside{false};
                    Beside blocked([&] {
                        const Watched watched(inside);
                        sum(comm, first);
                    });
                    await(inside);
                    start_sum(comm, second, &two);
                    signal(comm, 1);
                    check(stretto_wait(&two));
                    blocked.join();
                }
                sum(comm, third);
                CHECK(wrong(first, 2) == 0);
                CHECK(wrong(second, 2) == 0);
                CHECK(wrong(third, 2) == 0);
            });
}

// All calls are alike, so it does not matter in which order the threads of a rank come.  The last
// size is one for which ranks of three wait for one another before they choose a plan.
TEST_CASE("threads make blocking calls at the same time") {
    constexpr int kThreads = 4;
    for (const int ranks : {1, 2, 3})
        for (const auto &[count, calls] : {std::pair{std::size_t{1}, test::repeated(200)},
                                           {1000, test::repeated(100)},
                                           {150'001, 6}})
            test::with_ranks(ranks, [&, count = count, calls = calls](stretto_comm comm) {
                test::on_threads(kThreads, [&](int) {
                    for (int call = 0; call < calls; ++call) {
                        std::vector<std::int32_t> data = ones(count);
                        sum(comm, data);
                        REQUIRE(wrong(data, ranks) == 0);
                    }
                });
                std::array<stretto_stat, 4> lines{}; // late ranks have an algorithm of their own
                std::size_t count_of_lines = 0;
                check(stretto_stats(comm, lines.data(), lines.size(), &count_of_lines));
                std::uint64_t counted = 0;
                for (const stretto_stat &line : lines)
                    counted += line.calls;
                CHECK(counted == static_cast<std::uint64_t>(kThreads * calls));
            });
}

// Rings of 64 KiB are used again while other ranks still read what earlier calls have left there.
TEST_CASE("threads start calls and wait for those of others") {
    constexpr int kThreads = 3;
    const int calls = test::repeated(40);
    setenv("STRETTO_RING_BYTES", "64K", 1);
    for (const int ranks : {1, 2, 4})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            struct Started {
                std::vector<std::int32_t> data;
                stretto_request request = nullptr;
            };
            std::vector<Started> all(static_cast<std::size_t>(kThreads * calls));
            std::mutex order; // the order of calls is the program's duty
            std::size_t next = 0;
            test::on_threads(kThreads, [&](int thread) {
                for (int call = 0; call < calls; ++call) {
                    Started *mine = nullptr;
                    {
                        const std::lock_guard lock(order);
                        mine = &all[next];
                        mine->data = ones(1 + next % 7 * 911);
                        ++next;
                        start_sum(comm, mine->data, &mine->request);
                    }
                    int done = 0;
                    if (call % 3 == thread)
                        while (done == 0)
                            check(stretto_test(&mine->request, &done));
                    else if (call % 2 == 0)
                        check(stretto_wait(&mine->request));
                }
            });
            for (Started &each : all) {
                check(stretto_wait(&each.request));
                CHECK(wrong(each.data, ranks) == 0);
            }
        });
    unsetenv("STRETTO_RING_BYTES");
}

// One rank is still in the first call when the others, which are through, fill their rings.
TEST_CASE("a thread that is late in a blocking call still finds what was sent to it") {
    setenv("STRETTO_RING_BYTES", "64K", 1);
    test::with_ranks(2, [](stretto_comm comm) {
        check(stretto_set_timeout(comm, kLongSeconds));
        const int rounds = test::repeated(20);
        for (int round = 0; round < rounds; ++round) {
            std::vector<std::int32_t> first = ones(20'000), second = ones(3000);
            stretto_request request = nullptr;
            std::atomic<bool> inside{false};
            if (stretto_rank(comm) == 0) {
                Beside blocked([&] {
                    const Watched watched(inside);
                    sum(comm, first);
                });
                await(inside);
                start_sum(comm, second, &request);
                signal(comm, 1);
                check(stretto_wait(&request));
                blocked.join();
            } else {
                await_signal(comm, 0);
                sum(comm, first);
                start_sum(comm, second, &request);
                check(stretto_wait(&request));
            }
            CHECK(wrong(first, 2) == 0);
            CHECK(wrong(second, 2) == 0);
        }
    });
    unsetenv("STRETTO_RING_BYTES");
}

TEST_CASE("threads make calls with counts of their own") {
    constexpr int kThreads = 3;
    const int calls = test::repeated(60);
    for (const int ranks : {2, 3})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            std::vector<std::size_t> counts;
            for (int r = 0; r < ranks; ++r)
                counts.push_back(static_cast<std::size_t>(r + 1));
            const std::size_t whole = static_cast<std::size_t>(ranks * (ranks + 1) / 2);
            test::on_threads(kThreads, [&](int) {
                for (int call = 0; call < calls; ++call) {
                    std::vector<std::int32_t> mine(counts[static_cast<std::size_t>(rank)], rank),
                        all(whole, -1);
                    check(stretto_allgatherv(comm, mine.data(), all.data(), counts.data(),
                                             STRETTO_INT32));
                    std::size_t at = 0;
                    for (int r = 0; r < ranks; ++r)
                        for (int i = 0; i <= r; ++i)
                            REQUIRE(all[at++] == r);
                }
            });
            test::on_threads(kThreads, [&](int) {
                for (int call = 0; call < calls; ++call) {
                    std::vector<std::int32_t> mine(counts[static_cast<std::size_t>(rank)], rank),
                        all(whole, -1);
                    check(stretto_gatherv(comm, mine.data(), mine.size(), all.data(), counts.data(),
                                          nullptr, STRETTO_INT32, 0));
                }
            });
        });
}

TEST_CASE("a failure ends the calls of all threads") {
    test::with_ranks(2, [](stretto_comm comm) {
        if (stretto_rank(comm) == 1) {
            await_signal(comm, 0);
            std::int32_t one = 1;
            CHECK(stretto_allreduce(comm, STRETTO_IN_PLACE, &one, 1, STRETTO_INT32, STRETTO_MAX) !=
                  STRETTO_OK);
            return;
        }
        std::atomic<bool> inside{false};
        std::vector<std::int32_t> first = ones(5), second = ones(6);
        stretto_request request = nullptr;
        start_sum(comm, second, &request);
        Beside blocked([&] {
            const Watched watched(inside);
            CHECK(stretto_allreduce(comm, STRETTO_IN_PLACE, first.data(), first.size(),
                                    STRETTO_INT32, STRETTO_SUM) != STRETTO_OK);
        });
        await(inside);
        signal(comm, 1);
        CHECK(stretto_wait(&request) == STRETTO_ERR_MISMATCH);
        blocked.join();
    });
}
