// SPDX-License-Identifier: BSD-3-Clause
// The stages of calls on a device: what they copy, what they keep, and what happens at once.
#include "doctest.h"

#include <barrier>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "device/allreduce.hpp"
#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

namespace {

using test::allreduce;
using test::check;

simulated_cuda::Counts counted() {
    simulated_cuda::Counts counts;
    simulated_cuda::simulated_cuda_counts(&counts);
    return counts;
}

// What the driver is asked for by calls that all ranks make, after one that warms up.
simulated_cuda::Counts counts_of(int ranks, const std::string &algorithm, const test::Call &call) {
    simulated_cuda::Counts result;
    std::barrier together(ranks);
    test::with_ranks(ranks, [&](stretto_comm comm) {
        if (algorithm != "auto")
            check(stretto_force_algorithm(comm, algorithm.c_str()));
        CHECK(test::play(comm, call) == "");
        together.arrive_and_wait();
        if (stretto_rank(comm) == 0)
            simulated_cuda::simulated_cuda_reset();
        together.arrive_and_wait();
        CHECK(test::play(comm, call) == "");
        together.arrive_and_wait();
        if (stretto_rank(comm) == 0)
            result = counted();
        together.arrive_and_wait();
    });
    return result;
}

} // namespace

// The first test of the file: what the executor has measured of the copy engine stays.
TEST_CASE("contributions leave the copy engine to operands that come later") {
    const test::OnDevice device;
    const test::With staged("STRETTO_CUDA_IPC", "off"), rings("STRETTO_RING_BYTES", "8M");
    constexpr int kRanks = 2;
    constexpr std::uint64_t kBytes = 8u << 20, kAdmittedBytes = 512u << 10,
                            kSliceBytes = 256u << 10, kOperands = 4;
    const auto fetched = [] { return counted().from_device_bytes; };
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "direct"));
        const auto call = test::prepare(comm, allreduce(kBytes / sizeof(std::int32_t)));
        CHECK(test::play(comm, allreduce(1)) == "");
        check(stretto_barrier(comm));
        if (stretto_rank(comm) == 0) {
            simulated_cuda::simulated_cuda_reset();
            simulated_cuda::simulated_cuda_hold(true);
        }
        check(stretto_barrier(comm));
        std::thread observer;
        if (stretto_rank(comm) == 0)
            observer = std::thread([&] {
                constexpr int kPatience = 10'000; // ms
                for (int i = 0; i < kPatience && fetched() < kAdmittedBytes + kSliceBytes; ++i)
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                CHECK(fetched() >= kAdmittedBytes + kSliceBytes);
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                CHECK(fetched() <= kAdmittedBytes + kSliceBytes * (1 + kRanks * kOperands));
                simulated_cuda::simulated_cuda_hold(false);
            });
        const stretto_status status = call->run();
        if (observer.joinable())
            observer.join();
        check(status);
        CHECK(call->verdict() == "");
    });
}

TEST_CASE("each byte crosses the link once each way") {
    const test::OnDevice device;
    const test::With staged("STRETTO_CUDA_IPC", "off");
    for (const int ranks : {2, 3, 5})
        for (const char *const algorithm : {"ring", "direct"}) {
            CAPTURE(ranks);
            CAPTURE(algorithm);
            const std::size_t count = 30'030; // which all of these divide
            const auto counts = counts_of(ranks, algorithm, allreduce(count));
            const auto bytes = static_cast<std::uint64_t>(ranks) * count * sizeof(std::int32_t);
            CHECK(counts.from_device_bytes == bytes);
            CHECK(counts.to_device_bytes == bytes);
        }
}

TEST_CASE("an average is divided where it lies") {
    const test::OnDevice device;
    const test::With staged("STRETTO_CUDA_IPC", "off");
    for (const int ranks : {2, 3, 5})
        for (const std::size_t count : {0, 30, 60'060}) { // the second one is the CPU's
            CAPTURE(ranks);
            CAPTURE(count);
            const bool by_kernel = count > 1000;
            auto call = allreduce(count);
            call.dtype = STRETTO_FLOAT32;
            call.op = STRETTO_AVG;
            const auto counts = counts_of(ranks, "ring", call);
            const auto bytes = static_cast<std::uint64_t>(ranks) * count * sizeof(float);
            CHECK(counts.from_device_bytes == (by_kernel ? bytes : 2 * bytes));
            CHECK(counts.to_device_bytes == (by_kernel ? bytes : 2 * bytes));
            CHECK(counts.launches == (by_kernel ? static_cast<std::uint64_t>(ranks) : 0));
            CHECK(counts.kernel_bytes == (by_kernel ? 2 * bytes : 0));
        }
}

TEST_CASE("a repeated call registers nothing and copies from and to pinned memory") {
    const test::OnDevice device;
    for (const char *const algorithm : {"auto", "ring", "direct", "recursive_doubling"})
        for (const std::size_t count : {std::size_t{1}, std::size_t{1009}, std::size_t{300'007}}) {
            CAPTURE(algorithm);
            CAPTURE(count);
            const auto counts = counts_of(4, algorithm, allreduce(count));
            CHECK(counts.copies + counts.launches > 0);
            CHECK(counts.host_registrations == 0);
            CHECK(counts.streams == 0);
            CHECK(counts.pageable_copies == 0);
        }
}

TEST_CASE("the first call of processes that have a context asks the driver for nothing more") {
    test::OnDevice device;
    const test::With staged("STRETTO_CUDA_IPC", "off");
    constexpr int kRanks = 3;
    for (const std::size_t count : {std::size_t{1009}, std::size_t{300'007}}) {
        CAPTURE(count);
        std::barrier together(kRanks);
        const std::string job = test::fresh_job();
        test::on_threads(kRanks, [&](int rank) {
            device.settle(); // the context is this thread's now
            stretto_comm comm = nullptr;
            check(stretto_init_explicit(rank, kRanks, job.c_str(), &comm));
            const auto call = test::prepare(comm, allreduce(count));
            together.arrive_and_wait();
            if (rank == 0)
                simulated_cuda::simulated_cuda_reset();
            together.arrive_and_wait();
            check(call->run());
            together.arrive_and_wait();
            CHECK(counted().copies > 0);
            CHECK(counted().host_registrations == 0);
            CHECK(counted().streams == 0);
            CHECK(counted().pageable_copies == 0);
            together.arrive_and_wait();
            CHECK(call->verdict() == "");
            check(stretto_finalize(&comm));
        });
    }
}

TEST_CASE("what was registered is released with the communicator") {
    const test::OnDevice device;
    const test::With staged("STRETTO_CUDA_IPC", "off");
    // The pools of the process stay.
    test::with_ranks(1, [](stretto_comm comm) { CHECK(test::play(comm, allreduce(1009)) == ""); });
    const std::size_t before = simulated_cuda::simulated_cuda_pinned();
    for (int round = 0; round < 3; ++round) {
        test::with_ranks(3, [&](stretto_comm comm) {
            CHECK(test::play(comm, allreduce(1009)) == "");
            CHECK(simulated_cuda::simulated_cuda_pinned() > before);
        });
        CHECK(simulated_cuda::simulated_cuda_pinned() == before);
    }
}

// The link carries every rank's vector once each way: with P ranks on one device, a call cannot
// take less than P times that.  What its copies take, from the first to the last, is printed, since
// a busy machine may take longer.
TEST_CASE("copies of both ways overlap") {
    simulated_cuda::simulated_cuda_without_handles(true); // else nothing goes through the host
    const test::OnDevice device;
    constexpr double kBytesPerUs = 100;
    const simulated_cuda::Speed slow{5, kBytesPerUs}, fast{};
    for (const int ranks : {2, 4})
        for (const char *const algorithm : {"ring", "direct"}) {
            const std::size_t count = std::size_t{test::full_tier() ? 64u : 8u} << 20 >> 2;
            std::barrier together(ranks);
            test::with_ranks(ranks, [&](stretto_comm comm) {
                check(stretto_force_algorithm(comm, algorithm));
                const auto warm = test::prepare(comm, allreduce(count)),
                           timed = test::prepare(comm, allreduce(count));
                check(warm->run());
                together.arrive_and_wait();
                if (stretto_rank(comm) == 0) {
                    simulated_cuda::simulated_cuda_reset();
                    simulated_cuda::simulated_cuda_speed(&slow);
                }
                together.arrive_and_wait();
                check(timed->run());
                together.arrive_and_wait();
                if (stretto_rank(comm) == 0) {
                    const simulated_cuda::Counts counts = counted();
                    simulated_cuda::simulated_cuda_speed(&fast);
                    MESSAGE(std::string(algorithm), ", ", ranks, " ranks: ", counts.copying_us,
                            " us; from the device ", counts.from_device_us, ", to it ",
                            counts.to_device_us, ", both at once ", counts.both_us, ", copies ",
                            counts.copies);
                    CHECK(counts.both_us > 0.1 * counts.from_device_us);
                }
                together.arrive_and_wait();
                CHECK(timed->verdict() == "");
            });
        }
    simulated_cuda::simulated_cuda_without_handles(false);
}

TEST_CASE("ranks that wait for a late one have fetched their own data when it comes") {
    const test::OnDevice device;
    constexpr int kRanks = 3;
    constexpr std::size_t kCount = 30'030;
    constexpr std::uint64_t kBytes = kCount * sizeof(std::int32_t);
    std::barrier together(kRanks);
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "ring"));
        CHECK(test::play(comm, allreduce(kCount)) == "");
        const auto played = test::prepare(comm, allreduce(kCount));
        together.arrive_and_wait();
        if (stretto_rank(comm) == 1)
            simulated_cuda::simulated_cuda_reset();
        together.arrive_and_wait();
        if (stretto_rank(comm) == 1) {
            constexpr int kPatience = 10'000; // ms
            for (int i = 0; i < kPatience && counted().from_device_bytes < 2 * kBytes; ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            CHECK(counted().from_device_bytes == 2 * kBytes);
        }
        check(played->run());
        CHECK(played->verdict() == "");
        together.arrive_and_wait();
        if (stretto_rank(comm) == 1)
            CHECK(counted().from_device_bytes == kRanks * kBytes);
    });
}
