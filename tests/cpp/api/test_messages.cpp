// SPDX-License-Identifier: BSD-3-Clause
// Messages from one rank to another: what arrives where, and what holds up what.
#include "doctest.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/processes.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using test::check;
using test::contains;

namespace {

// Bytes that depend on who sends to whom, on the message and on the place.
std::vector<std::uint8_t> letter(int source, int dest, int number, std::size_t bytes) {
    std::vector<std::uint8_t> data(bytes);
    std::uint32_t state = static_cast<std::uint32_t>(source * 7919 + dest * 104'729 + number) | 1;
    for (std::uint8_t &byte : data) {
        state = state * 1'664'525 + 1'013'904'223;
        byte = static_cast<std::uint8_t>(state >> 24);
    }
    return data;
}

// The sizes at which something changes, in multiples of 4: nothing, one frame, the longest eager
// message, a piece, the mailbox, several of it.
const std::vector<std::size_t> kSizes = {
    0,      4,      20,     24,     28,     4092,   4096,    4100,      16'252,   16'256,
    16'260, 65'364, 65'404, 65'408, 65'412, 65'536, 262'144, 1'000'000, 5'000'004};

} // namespace

TEST_CASE("messages of all sizes arrive whole, between all pairs, from anywhere to anywhere") {
    for (const int ranks : {1, 2, 3, 5})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            void *shared = nullptr;
            check(stretto_alloc(comm, kSizes.back(), &shared));
            int number = 0;
            for (const std::size_t bytes : kSizes)
                for (int shift = 0; shift < ranks; ++shift, ++number) {
                    if (bytes > 300'000 && shift > 1)
                        continue;
                    const int dest = (rank + shift) % ranks,
                              source = (rank + ranks - shift) % ranks;
                    const auto out = letter(rank, dest, number, bytes);
                    std::vector<std::uint8_t> in(bytes + 4, 0xa5);
                    const void *from = out.data();
                    if (number % 2 == 1 && bytes != 0)
                        from = std::memcpy(shared, out.data(), bytes);
                    stretto_message seen{-7, -7, 7};
                    stretto_request request = nullptr;
                    check(stretto_irecv(comm, in.data(), bytes / 4 + 1, STRETTO_INT32, source,
                                        number, &seen, &request));
                    check(stretto_send(comm, from, bytes / 4, STRETTO_INT32, dest, number));
                    check(stretto_wait(&request));
                    CHECK(request == nullptr);
                    const auto right = letter(source, rank, number, bytes);
                    CHECK(std::equal(right.begin(), right.end(), in.begin()));
                    CHECK(in[bytes] == 0xa5);
                    CHECK(seen.source == source);
                    CHECK(seen.tag == number);
                    CHECK(seen.bytes == bytes);
                }
            check(stretto_free(comm, shared));
        });
}

TEST_CASE("a long message is not in the way of a short one") {
    test::with_ranks(2, [](stretto_comm comm) {
        const std::size_t large = 3'000'000;
        if (stretto_rank(comm) == 0) {
            const auto first = letter(0, 1, 1, large), second = letter(0, 1, 2, 40);
            stretto_request requests[3] = {};
            check(stretto_isend(comm, first.data(), large / 4, STRETTO_INT32, 1, 1, &requests[0]));
            check(stretto_isend(comm, second.data(), 10, STRETTO_INT32, 1, 2, &requests[1]));
            check(stretto_isend(comm, first.data(), large / 4, STRETTO_INT32, 1, 3, &requests[2]));
            for (stretto_request &request : requests)
                check(stretto_wait(&request));
        } else {
            std::vector<std::uint8_t> in(large);
            check(stretto_recv(comm, in.data(), 10, STRETTO_INT32, 0, 2, nullptr));
            CHECK(std::equal(in.begin(), in.begin() + 40, letter(0, 1, 2, 40).begin()));
            for (const int tag : {3, 1}) {
                check(stretto_recv(comm, in.data(), large / 4, STRETTO_INT32, 0, tag, nullptr));
                CHECK(in == letter(0, 1, 1, large));
            }
        }
    });
}

TEST_CASE("messages of one source stay in order, and wildcards take the oldest") {
    test::with_ranks(3, [](stretto_comm comm) {
        constexpr int kMany = 300;
        const int rank = stretto_rank(comm);
        if (rank != 0) {
            for (int i = 0; i < kMany; ++i) { // some eager, some not
                std::vector<int> data(i % 7 == 0 ? 2000 : 3, rank * 1000 + i);
                check(stretto_send(comm, data.data(), data.size(), STRETTO_INT32, 0, i % 2));
            }
            return;
        }
        int next[3] = {0, 0, 0};
        for (int i = 0; i < 2 * kMany; ++i) {
            stretto_message seen{}, taken{};
            std::vector<int> data(2000);
            check(stretto_probe(comm, STRETTO_ANY_SOURCE, STRETTO_ANY_TAG, &seen));
            check(stretto_recv(comm, data.data(), data.size(), STRETTO_INT32, STRETTO_ANY_SOURCE,
                               STRETTO_ANY_TAG, &taken));
            CHECK(seen.source == taken.source);
            CHECK(seen.tag == taken.tag);
            CHECK(seen.bytes == taken.bytes);
            const int number = next[taken.source]++;
            CHECK(data[0] == taken.source * 1000 + number);
            CHECK(taken.tag == number % 2);
            CHECK(taken.bytes == (number % 7 == 0 ? 8000 : 12));
        }
        int found = 1;
        check(stretto_iprobe(comm, STRETTO_ANY_SOURCE, STRETTO_ANY_TAG, &found, nullptr));
        CHECK(found == 0);
    });
}

TEST_CASE("a flood of unexpected messages is stored up to a bound, and all of it arrives") {
    test::with_ranks(2, [](stretto_comm comm) {
        constexpr int kMany = 3000; // of 1 KiB: more than is stored, and than a mailbox holds
        if (stretto_rank(comm) == 0) {
            std::vector<std::vector<int>> data;
            std::vector<stretto_request> requests(kMany);
            for (int i = 0; i < kMany; ++i) {
                data.emplace_back(256, i);
                check(stretto_isend(comm, data.back().data(), 256, STRETTO_INT32, 1, 5,
                                    &requests[static_cast<std::size_t>(i)]));
            }
            const int last = -1;
            check(stretto_send(comm, &last, 1, STRETTO_INT32, 1, 6));
            for (stretto_request &request : requests)
                check(stretto_wait(&request));
        } else {
            int last = 0;
            check(stretto_recv(comm, &last, 1, STRETTO_INT32, 0, 6, nullptr));
            CHECK(last == -1);
            for (int i = 0; i < kMany; ++i) {
                std::vector<int> data(256, -1);
                check(stretto_recv(comm, data.data(), 256, STRETTO_INT32, 0, 5, nullptr));
                CHECK(data.front() == i);
                CHECK(data.back() == i);
            }
        }
    });
}

TEST_CASE("queues show how long they have been, what filled them, and that they adapt") {
    test::with_ranks(2, [&](stretto_comm comm) {
        constexpr int kMessages = 800;
        stretto_message_queue posted, unexpected;
        for (int turn = 0; turn < 2; ++turn) {
            for (int i = 0; i < kMessages && stretto_rank(comm) == 1; ++i)
                check(stretto_send(comm, &i, 1, STRETTO_INT32, 0, i));
            check(stretto_barrier(comm));
            if (stretto_rank(comm) == 0) {
                stretto_message last;
                check(stretto_probe(comm, 1, kMessages - 1, &last)); // all are there
                check(stretto_message_queues(comm, &posted, &unexpected));
                CHECK(unexpected.depth == kMessages);
            }
            for (int i = kMessages; i-- > 0 && stretto_rank(comm) == 0;) {
                int got = -1;
                check(stretto_recv(comm, &got, 1, STRETTO_INT32, 1, i, nullptr));
                CHECK(got == i);
            }
            check(stretto_barrier(comm));
        }
        check(stretto_message_queues(comm, &posted, &unexpected));
        if (stretto_rank(comm) == 0) {
            CHECK(unexpected.scheme == std::string("hash"));
            CHECK(unexpected.depth == 0);
            CHECK(unexpected.deepest == kMessages);
            CHECK(unexpected.conversions >= 1);
            CHECK(unexpected.searches >= 2 * kMessages);
            CHECK(unexpected.looks > unexpected.searches);
            CHECK(unexpected.counted > kMessages / 2);
            CHECK(unexpected.source == 1);
            CHECK(unexpected.source_share == 1.0);
            CHECK(unexpected.tag_share < 0.01);
        }
        CHECK(posted.scheme == std::string("list"));
        CHECK(posted.depth == 0);
    });
}

TEST_CASE("a message that is too long is an error of the receiver alone") {
    for (const std::size_t count : {std::size_t{100}, std::size_t{100'000}})
        for (const bool shared : {false, true})
            test::with_ranks(2, [&](stretto_comm comm) {
                void *memory = nullptr;
                check(stretto_alloc(comm, count * 4, &memory));
                std::vector<int> own(count);
                int *const data = shared ? static_cast<int *>(memory) : own.data();
                for (std::size_t i = 0; i < count; ++i)
                    data[i] = static_cast<int>(i);
                if (stretto_rank(comm) == 0) {
                    for (int tag = 0; tag < 3; ++tag)
                        check(stretto_send(comm, data, count, STRETTO_INT32, 1, tag));
                    return;
                }
                std::vector<int> in(count, -1);
                stretto_message seen{};
                CHECK(stretto_recv(comm, in.data(), count - 1, STRETTO_INT32, 0, 0, &seen) ==
                      STRETTO_ERR_TRUNCATED);
                CHECK(contains(stretto_last_error(), std::to_string(count * 4).c_str()));
                CHECK(seen.bytes == count * 4);
                CHECK(in[count - 2] == static_cast<int>(count) - 2);
                CHECK(in[count - 1] == -1);
                CHECK(stretto_recv(comm, nullptr, 0, STRETTO_INT32, 0, 1, nullptr) ==
                      STRETTO_ERR_TRUNCATED);
                check(stretto_recv(comm, in.data(), count, STRETTO_INT32, 0, 2, nullptr));
                CHECK(in[count - 1] == static_cast<int>(count) - 1);
            });
}

TEST_CASE("messages move while a rank waits in a collective, or calls nothing") {
    test::with_ranks(2, [](stretto_comm comm) {
        const int rank = stretto_rank(comm), other = 1 - rank;
        constexpr std::size_t kCount = 500'000;
        for (int round = 0; round < 4; ++round) {
            std::vector<int> data(kCount, rank + 10 * round);
            float x = 1, sum = 0;
            stretto_request request = nullptr;
            if ((rank + round) % 2 == 0) { // receive, reduce, wait against send, reduce
                check(stretto_irecv(comm, data.data(), kCount, STRETTO_INT32, other, 0, nullptr,
                                    &request));
                check(stretto_allreduce(comm, &x, &sum, 1, STRETTO_FLOAT32, STRETTO_SUM));
                check(stretto_wait(&request));
                CHECK(data.front() == other + 10 * round);
                CHECK(data.back() == other + 10 * round);
            } else if (round < 2) {
                check(stretto_send(comm, data.data(), kCount, STRETTO_INT32, other, 0));
                check(stretto_allreduce(comm, &x, &sum, 1, STRETTO_FLOAT32, STRETTO_SUM));
            } else { // a message that waits for a receive is in nobody's way either
                check(stretto_isend(comm, data.data(), kCount, STRETTO_INT32, other, 0, &request));
                check(stretto_allreduce(comm, &x, &sum, 1, STRETTO_FLOAT32, STRETTO_SUM));
                int done = 0;
                while (done == 0)
                    check(stretto_test(&request, &done));
            }
            CHECK(sum == 2);
        }
        // Nobody calls anything here, and the message is sent nevertheless.
        static std::atomic<bool> received;
        received = false;
        check(stretto_barrier(comm));
        std::vector<int> data(kCount, rank);
        if (rank == 0) {
            stretto_request request = nullptr;
            check(stretto_isend(comm, data.data(), kCount, STRETTO_INT32, 1, 1, &request));
            while (!received)
                std::this_thread::yield();
            check(stretto_wait(&request));
        } else {
            check(stretto_recv(comm, data.data(), kCount, STRETTO_INT32, 0, 1, nullptr));
            CHECK(data.back() == 0);
            received = true;
        }
    });
}

TEST_CASE("nonblocking collectives go on while a rank waits for a message") {
    test::with_ranks(3, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        std::vector<float> x(100'000, 1), sum(100'000);
        stretto_request request = nullptr;
        check(stretto_iallreduce(comm, x.data(), sum.data(), x.size(), STRETTO_FLOAT32, STRETTO_SUM,
                                 &request));
        int token = 0;
        if (rank == 0) { // who has its sum first lets the others go on
            check(stretto_recv(comm, &token, 1, STRETTO_INT32, 1, 0, nullptr));
            check(stretto_recv(comm, &token, 1, STRETTO_INT32, 2, 0, nullptr));
            check(stretto_wait(&request));
        } else {
            check(stretto_wait(&request));
            check(stretto_send(comm, &token, 1, STRETTO_INT32, 0, 0));
        }
        CHECK(sum.back() == 3);
    });
}

TEST_CASE("many threads of a rank send and receive at once, and one is in collectives") {
    constexpr int kThreads = 4, kRounds = 60;
    test::with_ranks(3, [](stretto_comm comm) {
        const int rank = stretto_rank(comm), right = (rank + 1) % 3, left = (rank + 2) % 3;
        std::vector<std::thread> threads;
        std::atomic<int> wrong{0};
        for (int thread = 0; thread < kThreads; ++thread)
            threads.emplace_back([&, thread] {
                for (int round = 0; round < kRounds; ++round) {
                    const std::size_t count = round % 10 == 9 ? 40'000 : 1 + 37 * round % 1500;
                    std::vector<int> out(count, rank * 100 + thread), in(count, -1);
                    stretto_request request = nullptr;
                    stretto_message seen{};
                    bool fine = stretto_irecv(comm, in.data(), count, STRETTO_INT32, left, thread,
                                              &seen, &request) == STRETTO_OK;
                    fine = fine && stretto_send(comm, out.data(), count, STRETTO_INT32, right,
                                                thread) == STRETTO_OK;
                    fine = fine && stretto_wait(&request) == STRETTO_OK;
                    if (!fine || in.front() != left * 100 + thread || in.back() != in.front() ||
                        seen.bytes != count * 4)
                        ++wrong;
                }
            });
        for (int round = 0; round < kRounds; ++round) {
            int x = rank, sum = 0;
            check(stretto_allreduce(comm, &x, &sum, 1, STRETTO_INT32, STRETTO_SUM));
            CHECK(sum == 3);
        }
        for (std::thread &thread : threads)
            thread.join();
        CHECK(wrong == 0);
    });
}

TEST_CASE("receives that nothing has matched are given up by finalize") {
    test::with_ranks(2, [](stretto_comm comm) {
        static int x[2];
        stretto_request request = nullptr;
        stretto_message seen{};
        check(stretto_irecv(comm, &x[stretto_rank(comm)], 1, STRETTO_INT32, STRETTO_ANY_SOURCE, 9,
                            &seen, &request));
    });
}

TEST_CASE("messages sent before a rank left are still received; others are errors") {
    const std::string job = test::fresh_job();
    test::on_threads(2, [&](int rank) {
        stretto_comm comm = nullptr;
        check(stretto_init_explicit(rank, 2, job.c_str(), &comm));
        int x = 42;
        if (rank == 1)
            check(stretto_send(comm, &x, 1, STRETTO_INT32, 0, 3));
        else {
            x = 0;
            check(stretto_recv(comm, &x, 1, STRETTO_INT32, 1, 3, nullptr));
            CHECK(x == 42);
            CHECK(stretto_recv(comm, &x, 1, STRETTO_INT32, 1, 4, nullptr) == STRETTO_ERR_PEER);
            CHECK(contains(stretto_last_error(), "rank 1 has left"));
            CHECK(contains(stretto_last_error(), "tag 4"));
        }
        check(stretto_finalize(&comm));
    });
}

TEST_CASE("a dead peer is an error of every rank that waits for its message, in any way") {
    for (const int way : {0, 1, 2, 3, 4}) {
        CAPTURE(way);
        const auto codes = test::on_processes(3, [way](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            std::vector<int> data(1'000'000);
            stretto_request request = nullptr;
            int done = 0;
            // When it dies the others have only one call to hear of it: this one is over at once.
            int here = rank;
            if (rank == 2) {
                for (const int other : {0, 1})
                    stretto_recv(comm, &here, 1, STRETTO_INT32, other, 2, nullptr);
                if (way == 3) // in the middle of a message
                    stretto_isend(comm, data.data(), data.size(), STRETTO_INT32, 0, 0, &request);
                raise(SIGKILL);
            }
            stretto_status status = stretto_send(comm, &here, 1, STRETTO_INT32, 2, 2);
            if (status != STRETTO_OK)
                return 9;
            const int from = way == 1 ? STRETTO_ANY_SOURCE : 2;
            if (way == 2)
                status = stretto_send(comm, data.data(), data.size(), STRETTO_INT32, 2, 0);
            else if (way == 4) {
                status =
                    stretto_irecv(comm, data.data(), 1, STRETTO_INT32, from, 0, nullptr, &request);
                while (status == STRETTO_OK && done == 0)
                    status = stretto_test(&request, &done);
            } else {
                status = stretto_recv(comm, data.data(), data.size(), STRETTO_INT32, from,
                                      rank == 0 ? 0 : 1, nullptr);
            }
            const bool right =
                status == STRETTO_ERR_PEER && contains(stretto_last_error(), "rank 2 has died");
            const bool refused = stretto_send(comm, data.data(), 1, STRETTO_INT32, 1 - rank, 0) ==
                                 STRETTO_ERR_REVOKED;
            return stretto_finalize(&comm) == STRETTO_OK && right && refused ? 7 : 8;
        });
        CHECK(codes == std::vector<int>{7, 7, -SIGKILL});
    }
}

TEST_CASE("a message that does not come ends in a timeout that says which") {
    setenv("STRETTO_TIMEOUT", "1", 1);
    test::with_ranks(2, [](stretto_comm comm) {
        int x = 0;
        if (stretto_rank(comm) == 0) {
            CHECK(stretto_recv(comm, &x, 1, STRETTO_INT32, 1, 17, nullptr) == STRETTO_ERR_TIMEOUT);
            CHECK(contains(stretto_last_error(), "source 1, tag 17"));
            CHECK(contains(stretto_last_error(), "STRETTO_TIMEOUT"));
        } else {
            check(stretto_send(comm, &x, 1, STRETTO_INT32, 0, 16)); // not what is asked for
            int found = 0;
            while (stretto_iprobe(comm, 0, 17, &found, nullptr) == STRETTO_OK)
                std::this_thread::yield();
            CHECK(contains(stretto_last_error(), "rank 0")); // and its host, between hosts
            CHECK(contains(stretto_last_error(), " in recv"));
        }
    });
    unsetenv("STRETTO_TIMEOUT");
}

TEST_CASE("a crowd of more ranks than a word has bits") {
    constexpr int kRanks = 67;
    setenv("STRETTO_RING_BYTES", "16K", 1);
    test::with_ranks(kRanks, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        int number = 0;
        std::size_t wrong = 0;
        for (const int shift : {1, 33, 64, 66})
            for (const std::size_t bytes : {40u, 9000u}) {
                const int dest = (rank + shift) % kRanks, source = (rank + kRanks - shift) % kRanks;
                const auto out = letter(rank, dest, ++number, bytes);
                std::vector<std::uint8_t> in(bytes);
                stretto_request sent = nullptr;
                check(stretto_isend(comm, out.data(), bytes, STRETTO_UINT8, dest, number, &sent));
                check(stretto_recv(comm, in.data(), bytes, STRETTO_UINT8, source, number, nullptr));
                check(stretto_wait(&sent));
                wrong += in != letter(source, rank, number, bytes);
            }
        // All to the last, from anywhere: each once.
        constexpr int kTag = 1000, kLast = kRanks - 1;
        std::vector<std::uint8_t> letters_from(kRanks);
        for (int i = 0; rank == kLast && i < kLast; ++i) {
            std::vector<std::uint8_t> in(40);
            stretto_message message{};
            check(stretto_recv(comm, in.data(), 40, STRETTO_UINT8, STRETTO_ANY_SOURCE, kTag,
                               &message));
            wrong += in != letter(message.source, kLast, kTag, 40);
            wrong += letters_from[static_cast<std::size_t>(message.source)]++ != 0;
        }
        if (rank != kLast)
            check(stretto_send(comm, letter(rank, kLast, kTag, 40).data(), 40, STRETTO_UINT8, kLast,
                               kTag));
        CHECK(wrong == 0);
        check(stretto_barrier(comm)); // whoever has left can send no more
    });
    unsetenv("STRETTO_RING_BYTES");
}
