// SPDX-License-Identifier: BSD-3-Clause
// Devices that fail, at every copy of a call: all ranks get an error.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "device/allreduce.hpp"
#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "handles.hpp"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using test::allreduce;
using test::check;
using test::contains;

constexpr int kIllegalAddress = 700, kRanks = 3;

// Plays a call that fails at each of its copies and kernels in turn.
void check_each_error(const test::Call &call) {
    std::uint64_t requests = 0; // of a call that succeeds
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "ring"));
        if (stretto_rank(comm) == 0)
            simulated_cuda::simulated_cuda_reset();
        check(stretto_barrier(comm));
        CHECK(test::play(comm, call) == "");
        check(stretto_barrier(comm));
        simulated_cuda::Counts counts;
        simulated_cuda::simulated_cuda_counts(&counts);
        if (stretto_rank(comm) == 0)
            requests = counts.copies + counts.launches;
    });
    REQUIRE(requests > 10);
    for (std::uint64_t after = 0; after < requests; ++after) {
        CAPTURE(after);
        std::barrier together(kRanks);
        test::with_ranks(kRanks, [&](stretto_comm comm) {
            check(stretto_force_algorithm(comm, "ring"));
            const auto played = test::prepare(comm, call);
            together.arrive_and_wait();
            if (stretto_rank(comm) == 0)
                simulated_cuda::simulated_cuda_fail(after, kIllegalAddress);
            together.arrive_and_wait();
            // A rank that had all it needs before the error has its result, and the error in the
            // next call.
            stretto_status status = played->run();
            if (status == STRETTO_OK) {
                CHECK(played->verdict() == "");
                status = stretto_barrier(comm);
            }
            const std::string text = stretto_last_error();
            CAPTURE(text);
            CHECK(status == STRETTO_ERR_SYSTEM);
            // A rank that comes late finds the error before its first copy.
            CHECK((contains(text, "a copy or reduction of rank ") ||
                   contains(text, "the program's work in CUDA's default stream")));
            CHECK(contains(text, "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access"));
        });
        simulated_cuda::simulated_cuda_fail(0, 0);
    }
}

} // namespace

TEST_CASE("an error of the device ends the call on all ranks, whichever copy it comes with") {
    const test::OnDevice device;
    SUBCASE("a sum") {
        check_each_error(allreduce(90'001));
    }
    SUBCASE("an average, which a kernel divides at the end") {
        auto average = allreduce(60'001);
        average.dtype = STRETTO_FLOAT32;
        average.op = STRETTO_AVG;
        check_each_error(average);
    }
}

TEST_CASE("a call that times out waits until the device leaves its buffers") {
    const test::OnDevice device;
    const test::With timeout("STRETTO_TIMEOUT", "0.2");
    std::atomic<bool> held{false};
    std::barrier together(kRanks);
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        const auto played = test::prepare(comm, allreduce(1009));
        if (stretto_rank(comm) == 0) {
            held = true;
            simulated_cuda::simulated_cuda_hold(true);
        }
        together.arrive_and_wait();
        std::thread release;
        if (stretto_rank(comm) == 0)
            release = std::thread([&, segment = comm->communicator.segment()] {
                while (!segment->failed()) // on a busy machine this takes its time
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                std::this_thread::sleep_for(std::chrono::milliseconds(300));
                held = false;
                simulated_cuda::simulated_cuda_hold(false);
            });
        CHECK(played->run() == STRETTO_ERR_TIMEOUT);
        CHECK_FALSE(held);
        if (release.joinable())
            release.join();
    });
}
