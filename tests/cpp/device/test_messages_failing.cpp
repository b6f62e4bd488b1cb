// SPDX-License-Identifier: BSD-3-Clause
// Messages from and to memory of a device when the device, a peer or the clock ends them.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "device/message_exchange.hpp"
#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "handles.hpp"
#include "support/environment.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using std::chrono::milliseconds;
using test::Bytes;
using test::check;
using test::contains;
using test::Exchange;
using test::kLongBytes;
using test::kShortBytes;
using test::on_device;

constexpr int kIllegalAddress = 700, kRanks = test::kExchangeRanks;

} // namespace

static void fail_at_each_copy(std::uint64_t least) {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    std::uint64_t copies = 0; // of an exchange that succeeds
    std::barrier together(kRanks);
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        Exchange exchange(comm);
        together.arrive_and_wait();
        if (exchange.rank == 0)
            simulated_cuda::simulated_cuda_reset();
        together.arrive_and_wait();
        std::string text;
        CHECK(exchange.run(text) == STRETTO_OK);
        together.arrive_and_wait();
        simulated_cuda::Counts counts;
        simulated_cuda::simulated_cuda_counts(&counts);
        if (exchange.rank == 0)
            copies = counts.copies;
        together.arrive_and_wait();
        CHECK(exchange.right_data());
    });
    REQUIRE(copies > least);
    for (std::uint64_t after = 0; after < copies; ++after) {
        CAPTURE(after);
        test::with_ranks(kRanks, [&](stretto_comm comm) {
            Exchange exchange(comm);
            together.arrive_and_wait();
            if (exchange.rank == 0)
                simulated_cuda::simulated_cuda_fail(after, kIllegalAddress);
            together.arrive_and_wait();
            std::string text;
            const stretto_status status = exchange.run(text);
            CAPTURE(text);
            CHECK(status == STRETTO_ERR_SYSTEM);
            CHECK(contains(text, "rank "));
            if (!contains(text, "the program's work in CUDA's default stream")) { // before a call
                CHECK((contains(text, " in send(") || contains(text, " in recv(") ||
                       contains(text, "in alltoallv")));
                CHECK(contains(text, "from or to the device failed: "));
                CHECK((contains(text, "cuMemcpyAsync") || contains(text, "cuEventQuery")));
            }
            CHECK(contains(text, "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access"));
        });
        simulated_cuda::simulated_cuda_fail(0, 0);
    }
}

TEST_CASE("an error of the device ends messages on all ranks, whichever copy it comes with") {
    fail_at_each_copy(15);
}

TEST_CASE("the same of messages that go through host memory") {
    const test::With staged("STRETTO_CUDA_IPC", "off");
    fail_at_each_copy(40);
}

TEST_CASE("a device that copies slowly holds its peer up, and no byte is lost") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    const simulated_cuda::Speed slow{300, 0}, fast{};
    simulated_cuda::simulated_cuda_speed(&slow);
    test::with_ranks(2, [](stretto_comm comm) {
        constexpr std::size_t kBytes = 1'300'003; // five rounds of a ring
        const int rank = stretto_rank(comm);
        for (int number = 0; number < 6; ++number) {
            // The device is the receiver's, the sender's, or both have one.
            const bool mine = number % 3 == 2 || number % 3 == rank;
            Bytes data(comm, kBytes, false, 5, mine);
            if (rank == 1)
                test::write(data, 1, 0, number, kBytes);
            void *const buffer = data.data();
            if (rank == 1)
                check(stretto_send(comm, buffer, kBytes, STRETTO_UINT8, 0, number));
            else
                check(stretto_recv(comm, buffer, kBytes, STRETTO_UINT8, 1, number, nullptr));
            CHECK(test::holds(data, 1, 0, number, kBytes, kBytes));
        }
    });
    simulated_cuda::simulated_cuda_speed(&fast);
}

TEST_CASE("a sender may leave before the receiver's device has copied its message") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    for (const std::size_t bytes : {kShortBytes, std::size_t{200'000}})
        for (const bool shared : {false, true}) {
            CAPTURE(bytes);
            const std::string job = test::fresh_job();
            std::atomic<bool> left{false};
            test::on_threads(2, [&](int rank) {
                stretto_comm comm = nullptr;
                check(stretto_init_explicit(rank, 2, job.c_str(), &comm));
                if (rank == 1) {
                    {
                        Bytes out(comm, bytes, shared, 0);
                        test::write(out, 1, 0, 1, bytes);
                        check(stretto_send(comm, out.data(), bytes, STRETTO_UINT8, 0, 1));
                    }
                    check(stretto_finalize(&comm));
                    left = true;
                    return;
                }
                {
                    Bytes in = on_device(comm, bytes);
                    void *const data = in.data();
                    simulated_cuda::simulated_cuda_hold(true);
                    std::thread release([&] {
                        // A message from the heap is its sender's until it was copied.
                        while (!left && !shared)
                            std::this_thread::sleep_for(milliseconds(1));
                        std::this_thread::sleep_for(milliseconds(200)); // the rank looks meanwhile
                        simulated_cuda::simulated_cuda_hold(false);
                    });
                    const stretto_status status =
                        stretto_recv(comm, data, bytes, STRETTO_UINT8, 1, 1, nullptr);
                    release.join();
                    check(status);
                    CHECK(test::holds(in, 1, 0, 1, bytes, bytes));
                }
                check(stretto_finalize(&comm));
            });
        }
}

TEST_CASE("a message that times out ends when the device has left its buffer") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    const test::With timeout("STRETTO_TIMEOUT", "0.2");
    for (const bool receives : {true, false}) {
        std::atomic<bool> held{false};
        std::barrier together(2);
        test::with_ranks(2, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm), other = 1 - rank;
            Bytes data = on_device(comm, kLongBytes);
            void *const memory = data.data();
            if (rank == 0) {
                held = true;
                simulated_cuda::simulated_cuda_hold(true);
            }
            together.arrive_and_wait();
            std::thread release;
            if (rank == 0)
                release = std::thread([&, segment = comm->communicator.segment()] {
                    while (!segment->failed())
                        std::this_thread::sleep_for(milliseconds(1));
                    std::this_thread::sleep_for(milliseconds(300));
                    held = false;
                    simulated_cuda::simulated_cuda_hold(false);
                });
            // A copy of either side may have been begun.
            std::vector<std::uint8_t> here(kLongBytes);
            const bool sends = (rank == 0) != receives;
            void *const buffer = rank == 0 ? memory : here.data();
            const stretto_status status =
                sends ? stretto_send(comm, buffer, kLongBytes, STRETTO_UINT8, other, 0)
                      : stretto_recv(comm, buffer, kLongBytes, STRETTO_UINT8, other, 0, nullptr);
            CHECK(status == STRETTO_ERR_TIMEOUT);
            CHECK((rank == 1 || !held));
            together.arrive_and_wait();
            if (release.joinable())
                release.join();
        });
    }
}
