// SPDX-License-Identifier: BSD-3-Clause
// Messages whose buffers an executor copies: late, in any order, from a thread of its own.
#include "doctest.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "handles.hpp"
#include "support/deferred.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using stretto::MemoryKind;
using stretto::p2p::Messenger;
using stretto::p2p::Taken;
using stretto::p2p::Transfer;
using test::contains;
using test::Deferred;

using Bytes = std::vector<std::uint8_t>;

Bytes letter(int source, int dest, int number, std::size_t bytes) {
    Bytes data(bytes);
    std::uint32_t state = static_cast<std::uint32_t>(source * 7919 + dest * 104'729 + number) | 1;
    for (std::uint8_t &byte : data) {
        state = state * 1'664'525 + 1'013'904'223;
        byte = static_cast<std::uint8_t>(state >> 24);
    }
    return data;
}

MemoryKind memory(int rank, int number) {
    return (number >> rank % 2 & 1) != 0 ? MemoryKind::host : MemoryKind::cuda;
}

} // namespace

TEST_CASE("an executor copies messages of all sizes, whichever way it tells of their ends") {
    for (const Deferred::Tells tells : {Deferred::Tells::signals, Deferred::Tells::polled}) {
        Deferred executor(tells);
        const test::Registered registered(MemoryKind::cuda, executor);
        test::with_ranks(3, [](stretto_comm comm) {
            Messenger &messenger = comm->communicator.messenger();
            const int rank = stretto_rank(comm);
            int number = 0;
            for (const std::size_t bytes :
                 {1u, 4096u, 4097u, 16'256u, 65'025u, 260'096u, 300'001u, 1'300'003u})
                for (int turn = 0; turn < 8; ++turn, ++number) {
                    const int shift = turn % 3, dest = (rank + shift) % 3,
                              source = (rank + 3 - shift) % 3;
                    const Bytes out = letter(rank, dest, number, bytes);
                    Bytes in(bytes);
                    Transfer *const receive = messenger.start_receive(
                        in.data(), bytes, memory(rank, turn), source, number);
                    messenger.send(out.data(), bytes, memory(rank + 1, turn), dest, number);
                    messenger.wait(*receive);
                    messenger.complete(receive);
                    CHECK(in == letter(source, rank, number, bytes));
                }
        });
        CHECK(executor.ever_taken() > 0);
    }
}

TEST_CASE("an executor that signals wakes the rank that waits for its copy") {
    Deferred executor(Deferred::Tells::signals);
    const test::Registered registered(MemoryKind::cuda, executor);
    test::with_ranks(2, [&](stretto_comm comm) {
        Messenger &messenger = comm->communicator.messenger();
        constexpr std::size_t kBytes = 200'000;
        for (int number = 0; number < 20; ++number) {
            const Bytes right = letter(0, 1, number, kBytes);
            if (stretto_rank(comm) == 0) {
                messenger.send(right.data(), kBytes, MemoryKind::host, 1, number);
            } else {
                executor.hold();
                std::thread release([&] {
                    while (executor.taken() == 0)
                        std::this_thread::yield();
                    std::this_thread::sleep_for(std::chrono::milliseconds(3));
                    executor.release();
                });
                Bytes in(kBytes);
                Taken taken;
                CHECK_FALSE(
                    messenger.receive(in.data(), kBytes, MemoryKind::cuda, 0, number, taken));
                release.join();
                CHECK(in == right);
            }
        }
    });
}

TEST_CASE("an executor that breaks down ends the messages of all ranks") {
    for (const Deferred::Tells tells : {Deferred::Tells::signals, Deferred::Tells::polled}) {
        Deferred executor(tells);
        const test::Registered registered(MemoryKind::cuda, executor);
        test::with_ranks(2, [&](stretto_comm comm) {
            Messenger &messenger = comm->communicator.messenger();
            constexpr std::size_t kBytes = 1'000'000;
            Bytes data(kBytes);
            executor.break_down({stretto::Status::system, "the copy engine is on fire"});
            std::string text;
            try {
                if (stretto_rank(comm) == 0) {
                    messenger.send(data.data(), kBytes, MemoryKind::cuda, 1, 0);
                } else {
                    Taken taken;
                    if (const auto error =
                            messenger.receive(data.data(), kBytes, MemoryKind::host, 0, 0, taken))
                        text = error->what();
                }
            } catch (const stretto::Error &error) {
                text = error.what();
            }
            CAPTURE(text);
            CHECK(contains(text, "rank 0"));
            CHECK(contains(text, "send(1000000 bytes to rank 1, tag 0)"));
            CHECK(contains(text, "the copy engine is on fire"));
        });
    }
}
