// SPDX-License-Identifier: BSD-3-Clause
// Messages from and to memory of a device: what arrives where, whichever memory each side has.
#include "doctest.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/message_buffers.hpp"
#include "device/on_device.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using test::Bytes;
using test::check;
using test::contains;
using test::Where;

// The sizes at which something changes: nothing, the longest eager message, a piece, a slot of four
// of them, a ring of four slots, and several rounds of it.
const std::vector<std::size_t> kSizes = {
    0,      1,      3,       4095,    4096,    4097,    16'255,  16'256,  16'257,   65'023,
    65'024, 65'025, 260'095, 260'096, 260'097, 325'120, 400'001, 520'192, 1'300'003};

std::unique_ptr<Bytes> make(stretto_comm comm, std::size_t bytes, int number, Where where) {
    return std::make_unique<Bytes>(comm, bytes, where == Where::shared,
                                   static_cast<std::size_t>(number * 7 % 64),
                                   where == Where::device);
}

} // namespace

TEST_CASE("messages of all sizes arrive whole, from any memory to any") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const int ranks : {1, 2, 3})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            int number = 0;
            for (const std::size_t bytes : kSizes)
                for (int turn = 0; turn < 4; ++turn, ++number) {
                    const int shift = turn % ranks, dest = (rank + shift) % ranks,
                              source = (rank + ranks - shift) % ranks;
                    const auto out = make(comm, bytes, number, test::where(rank, number)),
                               in = make(comm, bytes + 3, number + 1,
                                         test::where(rank, number + 1 + turn));
                    test::write(*out, rank, dest, number, bytes);
                    stretto_message seen{-7, -7, 7};
                    stretto_request request = nullptr;
                    check(stretto_irecv(comm, in->data(), bytes + 3, STRETTO_UINT8, source, number,
                                        &seen, &request));
                    check(stretto_send(comm, out->data(), bytes, STRETTO_UINT8, dest, number));
                    check(stretto_wait(&request));
                    CAPTURE(bytes);
                    CAPTURE(turn);
                    CHECK(test::holds(*in, source, rank, number, bytes, bytes + 3));
                    CHECK(test::holds(*out, rank, dest, number, bytes, bytes));
                    CHECK(seen.source == source);
                    CHECK(seen.tag == number);
                    CHECK(seen.bytes == bytes);
                }
        });
}

TEST_CASE("a short message to the own rank is kept until it is received") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(1, [](stretto_comm comm) {
        for (int number = 0; number < 8; ++number)
            for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}}) {
                const auto out = make(comm, bytes, number, test::where(0, number)),
                           in = make(comm, bytes, number + 1, test::where(0, number / 2));
                test::write(*out, 0, 0, number, bytes);
                check(stretto_send(comm, out->data(), bytes, STRETTO_UINT8, 0, 4));
                test::write(*out, 0, 0, number + 1, bytes); // the buffer is this rank's again
                (void)out->data();
                check(stretto_recv(comm, in->data(), bytes, STRETTO_UINT8, 0, 4, nullptr));
                CHECK(test::holds(*in, 0, 0, number, bytes, bytes));
            }
    });
}

TEST_CASE("messages of one source stay in order, and wildcards take the oldest") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(3, [](stretto_comm comm) {
        constexpr int kMany = 200;
        const int rank = stretto_rank(comm);
        const auto size = [](int number) -> std::size_t { // some eager, some not
            return number % 7 == 0 ? 8000 : number % 31 == 5 ? 270'001 : 12;
        };
        if (rank != 0) {
            for (int i = 0; i < kMany; ++i) {
                const auto out = make(comm, size(i), i, test::where(rank, i));
                test::write(*out, rank, 0, i, size(i));
                check(stretto_send(comm, out->data(), size(i), STRETTO_UINT8, 0, i % 2));
            }
            return;
        }
        int next[3] = {0, 0, 0};
        for (int i = 0; i < 2 * kMany; ++i) {
            stretto_message seen{}, taken{};
            check(stretto_probe(comm, STRETTO_ANY_SOURCE, STRETTO_ANY_TAG, &seen));
            const auto in = make(comm, seen.bytes, i, test::where(0, i));
            check(stretto_recv(comm, in->data(), seen.bytes, STRETTO_UINT8, STRETTO_ANY_SOURCE,
                               STRETTO_ANY_TAG, &taken));
            CHECK(seen.source == taken.source);
            CHECK(seen.tag == taken.tag);
            const int number = next[taken.source]++;
            CHECK(taken.tag == number % 2);
            CHECK(taken.bytes == size(number));
            CHECK(test::holds(*in, taken.source, 0, number, taken.bytes, taken.bytes));
        }
    });
}

TEST_CASE("more long messages than there are rings, both ways, with any order of waits") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const bool tests : {false, true})
        test::with_ranks(3, [tests](stretto_comm comm) {
            constexpr int kMany = 24; // to each of the others, and from each
            constexpr std::size_t kBytes = 300'001;
            const int rank = stretto_rank(comm);
            std::vector<std::unique_ptr<Bytes>> out, in;
            std::vector<stretto_request> requests;
            for (int i = 0; i < kMany; ++i)
                for (const int shift : {1, 2}) {
                    const int dest = (rank + shift) % 3, source = (rank + 3 - shift) % 3;
                    out.push_back(make(comm, kBytes, i, i % 3 == 0 ? Where::host : Where::device));
                    in.push_back(make(comm, kBytes, i, i % 5 == 0 ? Where::host : Where::device));
                    test::write(*out.back(), rank, dest, i, kBytes);
                    requests.resize(requests.size() + 2);
                    check(stretto_isend(comm, out.back()->data(), kBytes, STRETTO_UINT8, dest, i,
                                        &requests[requests.size() - 2]));
                    check(stretto_irecv(comm, in.back()->data(), kBytes, STRETTO_UINT8, source, i,
                                        nullptr, &requests.back()));
                }
            for (std::size_t k = requests.size(); k-- > 0;) {
                int done = 0;
                while (tests && done == 0)
                    check(stretto_test(&requests[k], &done));
                check(stretto_wait(&requests[k]));
            }
            for (int i = 0; i < kMany; ++i)
                for (const int shift : {1, 2})
                    CHECK(test::holds(*in[static_cast<std::size_t>(2 * i + shift - 1)],
                                      (rank + 3 - shift) % 3, rank, i, kBytes, kBytes));
        });
}

TEST_CASE("a flood of unexpected messages is stored up to a bound, and all of it arrives") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(2, [](stretto_comm comm) {
        constexpr int kMany = 600; // of 1 KiB: more than is stored, and than a mailbox holds
        constexpr std::size_t kBytes = 1024;
        if (stretto_rank(comm) == 0) {
            std::vector<std::unique_ptr<Bytes>> out;
            std::vector<stretto_request> requests(kMany + 1);
            for (int i = 0; i <= kMany; ++i) {
                out.push_back(make(comm, kBytes, i, i % 4 == 0 ? Where::host : Where::device));
                test::write(*out.back(), 0, 1, i, kBytes);
                check(stretto_isend(comm, out.back()->data(), kBytes, STRETTO_UINT8, 1,
                                    i == kMany ? 6 : 5, &requests[static_cast<std::size_t>(i)]));
            }
            for (stretto_request &request : requests)
                check(stretto_wait(&request));
            return;
        }
        for (int i = kMany; i != kMany - 1; i = i == kMany ? 0 : i + 1) {
            const auto in = make(comm, kBytes, i, i % 3 == 0 ? Where::host : Where::device);
            check(stretto_recv(comm, in->data(), kBytes, STRETTO_UINT8, 0, i == kMany ? 6 : 5,
                               nullptr));
            CHECK(test::holds(*in, 0, 1, i, kBytes, kBytes));
        }
        const auto last = make(comm, kBytes, 0, Where::device);
        check(stretto_recv(comm, last->data(), kBytes, STRETTO_UINT8, 0, 5, nullptr));
        CHECK(test::holds(*last, 0, 1, kMany - 1, kBytes, kBytes));
    });
}

TEST_CASE("a message that is too long is an error of the receiver alone") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const std::size_t bytes : {std::size_t{400}, std::size_t{700'000}})
        for (const Where from : {Where::host, Where::shared, Where::device})
            test::with_ranks(2, [&](stretto_comm comm) {
                const int rank = stretto_rank(comm);
                const auto own = make(comm, bytes, 3, rank == 0 ? from : Where::device);
                if (rank == 0) {
                    test::write(*own, 0, 1, 3, bytes);
                    for (int tag = 0; tag < 3; ++tag)
                        check(stretto_send(comm, own->data(), bytes, STRETTO_UINT8, 1, tag));
                    return;
                }
                const auto full = make(comm, bytes, 5, Where::device);
                stretto_message seen{};
                CHECK(stretto_recv(comm, own->data(), bytes - 1, STRETTO_UINT8, 0, 0, &seen) ==
                      STRETTO_ERR_TRUNCATED);
                CHECK(contains(stretto_last_error(), std::to_string(bytes).c_str()));
                CHECK(seen.bytes == bytes);
                CHECK(test::holds(*own, 0, 1, 3, bytes - 1, bytes));
                CHECK(stretto_recv(comm, nullptr, 0, STRETTO_UINT8, 0, 1, nullptr) ==
                      STRETTO_ERR_TRUNCATED);
                check(stretto_recv(comm, full->data(), bytes, STRETTO_UINT8, 0, 2, nullptr));
                CHECK(test::holds(*full, 0, 1, 3, bytes, bytes));
            });
}

TEST_CASE("messages move while a rank waits in a collective, or calls nothing") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    std::atomic<bool> ended[2] = {};
    test::with_ranks(2, [&ended](stretto_comm comm) {
        const int rank = stretto_rank(comm), other = 1 - rank;
        constexpr std::size_t kBytes = 1'000'003;
        for (int round = 0; round < 4; ++round) {
            const auto data = make(comm, kBytes, round, Where::device);
            float x = 1, sum = 0;
            stretto_request request = nullptr;
            if ((rank + round) % 2 == 0) {
                check(stretto_irecv(comm, data->data(), kBytes, STRETTO_UINT8, other, 0, nullptr,
                                    &request));
                check(stretto_allreduce(comm, &x, &sum, 1, STRETTO_FLOAT32, STRETTO_SUM));
                check(stretto_wait(&request));
                CHECK(test::holds(*data, other, rank, round, kBytes, kBytes));
            } else {
                test::write(*data, rank, other, round, kBytes);
                if (round < 2)
                    check(stretto_send(comm, data->data(), kBytes, STRETTO_UINT8, other, 0));
                else
                    check(stretto_isend(comm, data->data(), kBytes, STRETTO_UINT8, other, 0,
                                        &request));
                check(stretto_allreduce(comm, &x, &sum, 1, STRETTO_FLOAT32, STRETTO_SUM));
                check(stretto_wait(&request));
            }
            CHECK(sum == 2);
        }
        // One rank calls nothing, and the message is sent, or received, nevertheless.
        for (const int idle : {0, 1}) {
            const auto data = make(comm, kBytes, idle, Where::device);
            if (rank == 0)
                test::write(*data, 0, 1, idle, kBytes);
            check(stretto_barrier(comm));
            stretto_request request = nullptr;
            if (rank == 0)
                check(stretto_isend(comm, data->data(), kBytes, STRETTO_UINT8, 1, 1, &request));
            else
                check(stretto_irecv(comm, data->data(), kBytes, STRETTO_UINT8, 0, 1, nullptr,
                                    &request));
            while (rank == idle && !ended[idle])
                std::this_thread::yield();
            check(stretto_wait(&request));
            ended[idle] = true;
            if (rank == 1)
                CHECK(test::holds(*data, 0, 1, idle, kBytes, kBytes));
        }
    });
}

TEST_CASE("many threads of a rank send and receive at once, and one is in collectives") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    constexpr int kThreads = 4, kRounds = 40;
    test::with_ranks(3, [](stretto_comm comm) {
        const int rank = stretto_rank(comm), right = (rank + 1) % 3, left = (rank + 2) % 3;
        std::vector<std::thread> threads;
        std::atomic<int> wrong{0};
        for (int thread = 0; thread < kThreads; ++thread)
            threads.emplace_back([&, thread] {
                for (int round = 0; round < kRounds; ++round) {
                    const std::size_t bytes = static_cast<std::size_t>(
                        round % 10 == 9 ? 160'001 : 1 + 149 * round % 6001);
                    const int number = thread * kRounds + round;
                    const auto out = make(comm, bytes, number, test::where(rank, round)),
                               in = make(comm, bytes, number, test::where(rank, round + thread));
                    test::write(*out, rank, right, number, bytes);
                    stretto_request request = nullptr;
                    bool fine = stretto_irecv(comm, in->data(), bytes, STRETTO_UINT8, left, thread,
                                              nullptr, &request) == STRETTO_OK;
                    fine = fine && stretto_send(comm, out->data(), bytes, STRETTO_UINT8, right,
                                                thread) == STRETTO_OK;
                    fine = fine && stretto_wait(&request) == STRETTO_OK;
                    if (!fine || !test::holds(*in, left, rank, number, bytes, bytes))
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

TEST_CASE("a function hears of the end of a message that nobody waits for") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(2, [](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        for (const std::size_t bytes : {std::size_t{100}, std::size_t{600'001}}) {
            const auto data = make(comm, bytes, 1, Where::device);
            if (rank == 0)
                test::write(*data, 0, 1, 1, bytes);
            stretto_request request = nullptr;
            if (rank == 0)
                check(stretto_isend(comm, data->data(), bytes, STRETTO_UINT8, 1, 1, &request));
            else
                check(stretto_irecv(comm, data->data(), bytes, STRETTO_UINT8, 0, 1, nullptr,
                                    &request));
            std::atomic<int> heard{-1};
            check(stretto_request_notify(
                request,
                [](stretto_status status, const char *, void *context) {
                    static_cast<std::atomic<int> *>(context)->store(status);
                },
                &heard));
            while (heard == -1)
                std::this_thread::yield();
            CHECK(heard == STRETTO_OK);
            check(stretto_wait(&request));
            if (rank == 1)
                CHECK(test::holds(*data, 0, 1, 1, bytes, bytes));
            check(stretto_barrier(comm));
        }
    });
}
