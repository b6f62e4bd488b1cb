// SPDX-License-Identifier: BSD-3-Clause
// One process launches the kernels of all ranks of a device.  Ranks are processes, which share one
// device unless a test says otherwise.
#include "doctest.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "device/allreduce.hpp"
#include "device/ordered_vector.hpp"
#include "stretto/communicators.h"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/job.hpp"

using namespace test;

namespace {

constexpr std::size_t kDivisible = 168'000; // by 2, 3, 4, 5, 7 and 8
constexpr int kCalls = 4;

// Some repeated calls, and what they ask of the driver in this process.
Counts counts_of_calls(OrderedVector &vector, stretto_comm comm, Order order, bool &right) {
    for (int call = 0; call < 3; ++call) // ranks know of one another then
        right = vector.sum(comm, order) && right;
    check(stretto_barrier(comm));
    simulated_cuda::simulated_cuda_reset();
    for (int call = 0; call < kCalls; ++call)
        right = vector.sum(comm, order) && right;
    const Counts counts = counted();
    check(stretto_barrier(comm));
    return counts;
}

// Bytes that kernels of so many ranks read and write in those calls.
std::uint64_t bytes_of(int passes, int ranks) {
    return static_cast<std::uint64_t>(kCalls) * static_cast<unsigned>(passes) * kDivisible * 4 /
           static_cast<unsigned>(ranks) * 2 * static_cast<unsigned>(ranks);
}

// The turns of all processes in one more call, as one of them has counted them.
std::uint64_t turns_of_call(OrderedVector &vector, stretto_comm comm, Order order, bool &right) {
    const std::uint64_t before = simulated_cuda::simulated_cuda_turns();
    check(stretto_barrier(comm)); // after counts_of_calls() nothing is under way
    right = vector.sum(comm, order) && right;
    check(stretto_barrier(comm));
    return simulated_cuda::simulated_cuda_turns() - before;
}

} // namespace

TEST_CASE("one process launches all kernels, and no turn changes") {
    const With shared("STRETTO_GPU_LAUNCH", "shared");
    for (const int ranks : {2, 3, 5, 8})
        for (const Order order : {Order::host, Order::stream}) {
            CAPTURE(ranks);
            CAPTURE(static_cast<int>(order));
            SharedCounter turns;
            on_ranks(ranks, [&](stretto_comm comm) {
                OnDevice device;
                OrderedVector vector(device, kDivisible, new_stream());
                bool right = true;
                const bool first = stretto_rank(comm) == 0;
                const Counts counts = counts_of_calls(vector, comm, order, right);
                *turns += static_cast<int>(turns_of_call(vector, comm, order, right));
                return right && asks_nothing(counts) &&
                               counts.kernel_bytes == bytes_of(first ? ranks : 0, ranks)
                           ? kRight
                           : kWrong;
            });
            CHECK(*turns == 0);
        }
}

TEST_CASE("each launches its own where a setting or MPS says so") {
    const auto each = [](const char *variable, const char *value) {
        CAPTURE(variable);
        const With set(variable, value);
        on_ranks(4, [](stretto_comm comm) {
            OnDevice device;
            OrderedVector vector(device, kDivisible, new_stream());
            bool right = true;
            const Counts counts = counts_of_calls(vector, comm, Order::host, right);
            const std::uint64_t turns = turns_of_call(vector, comm, Order::host, right);
            return right && asks_nothing(counts) && counts.kernel_bytes == bytes_of(1, 4) &&
                           turns >= 3
                       ? kRight
                       : kWrong;
        });
    };
    each("STRETTO_GPU_LAUNCH", "own");
    each("CUDA_MPS_PIPE_DIRECTORY", "/tmp/mps-of-the-test");
}

TEST_CASE("ranks may differ: one that launches its own launches for no other") {
    const std::string job = fresh_job();
    const auto codes = on_bare_processes(4, [&](int rank) {
        setenv("STRETTO_GPU_LAUNCH", rank == 0 || rank == 2 ? "own" : "shared", 1);
        stretto_comm comm = nullptr;
        if (stretto_init_explicit(rank, 4, job.c_str(), &comm) != STRETTO_OK)
            return kNotJoined;
        check(stretto_force_algorithm(comm, "direct"));
        OnDevice device;
        OrderedVector vector(device, kDivisible, new_stream());
        bool right = true;
        const Counts counts = counts_of_calls(vector, comm, Order::host, right);
        constexpr int kPasses[] = {1, 2, 1, 0};
        return right && counts.kernel_bytes == bytes_of(kPasses[rank], 4) ? kRight : kWrong;
    });
    CHECK(codes == std::vector<int>(4, kRight));
}

TEST_CASE("each device has its delegate") {
    const With shared("STRETTO_GPU_LAUNCH", "shared");
    on_ranks(5, [](stretto_comm comm) {
        OnDevice device;
        const int rank = stretto_rank(comm);
        if (rank % 2 == 1)
            simulated_cuda::simulated_cuda_other_device();
        stretto_comm same = nullptr;
        check(stretto_comm_split(comm, rank % 2, rank, &same));
        check(stretto_force_algorithm(same, "direct"));
        OrderedVector mixed(device, kDivisible, new_stream()),
            vector(device, kDivisible, new_stream());
        bool right = true;
        for (int call = 0; call < 3; ++call)
            right = mixed.sum(comm, Order::host) && right;
        const Counts counts = counts_of_calls(vector, same, Order::host, right);
        const int ranks = stretto_size(same);
        return right && asks_nothing(counts) &&
                       counts.kernel_bytes == bytes_of(stretto_rank(same) == 0 ? ranks : 0, ranks)
                   ? kRight
                   : kWrong;
    });
}

TEST_CASE("any count, type and operation, in place or not, and averages") {
    for (const char *const how : {"shared", "passes"}) {
        const With set("STRETTO_GPU_LAUNCH", how);
        for (const int ranks : {2, 5})
            on_ranks(ranks, [&](stretto_comm comm) {
                const OnDevice device(OnDevice::Buffers::reused);
                std::size_t salt = 0;
                for (int dtype = 0; dtype < 15; ++dtype)
                    for (const stretto_op op : {STRETTO_SUM, STRETTO_MAX, STRETTO_AVG}) {
                        const bool complex =
                            dtype == STRETTO_COMPLEX64 || dtype == STRETTO_COMPLEX128;
                        const bool floating = dtype >= STRETTO_FLOAT16 && dtype < STRETTO_BOOL;
                        if ((op == STRETTO_MAX && complex) || (op == STRETTO_AVG && !floating))
                            continue;
                        Call call = allreduce(131'077);
                        call.dtype = static_cast<stretto_dtype>(dtype);
                        call.op = dtype == STRETTO_BOOL ? STRETTO_LXOR : op;
                        call.in_place = ++salt % 2 == 0;
                        call.salt = salt;
                        call.send_offset = call.recv_offset = salt % 3 * 16;
                        if (play(comm, call) != "")
                            return kWrong;
                    }
                return kRight;
            });
    }
}

TEST_CASE("all collectives") {
    constexpr Collective kAll[] = {Collective::allreduce, Collective::reduce,
                                   Collective::broadcast, Collective::reduce_scatter,
                                   Collective::allgather, Collective::alltoall,
                                   Collective::gather,    Collective::scatter};
    for (const char *const how : {"shared", "passes"}) {
        const With set("STRETTO_GPU_LAUNCH", how);
        const auto codes = on_processes(4, [&](stretto_comm comm) {
            const OnDevice device(OnDevice::Buffers::reused);
            std::size_t salt = 0;
            for (int round = 0; round < 3; ++round)
                for (const Collective collective : kAll)
                    for (const bool in_place : {false, true})
                        for (const bool later : {false, true}) {
                            Call call = allreduce(kCount);
                            call.collective = collective;
                            call.in_place = in_place;
                            call.nonblocking = later;
                            call.salt = ++salt;
                            if (play(comm, call) != "")
                                return kWrong;
                        }
            return kRight;
        });
        CHECK(codes == std::vector<int>(4, kRight));
    }
}

TEST_CASE("a rank with host memory among those that have device memory") {
    const With shared("STRETTO_GPU_LAUNCH", "shared");
    for (const int odd : {0, 2})
        on_ranks(4, [&](stretto_comm comm) {
            {
                OnDevice device;
                OrderedVector vector(device, kCount, new_stream());
                for (int call = 0; call < 3; ++call)
                    if (!vector.sum(comm, Order::host))
                        return kWrong;
            }
            const OnDevice device(stretto_rank(comm) == odd ? OnDevice::Buffers::asked
                                                            : OnDevice::Buffers::reused);
            for (int round = 0; round < 6; ++round)
                if (play(comm, allreduce(kCount)) != "")
                    return kWrong;
            return kRight;
        });
}

TEST_CASE("nonblocking calls, several at once on two communicators") {
    for (const char *const how : {"shared", "passes"}) {
        const With set("STRETTO_GPU_LAUNCH", how);
        on_ranks(kRanks, [](stretto_comm comm) {
            const OnDevice device(OnDevice::Buffers::reused);
            stretto_comm other = nullptr;
            check(stretto_comm_dup(comm, &other));
            for (int round = 0; round < 6; ++round) {
                std::vector<std::unique_ptr<Played>> calls;
                std::vector<stretto_request> requests(8);
                for (std::size_t k = 0; k < requests.size(); ++k) {
                    calls.push_back(prepare(k % 2 == 0 ? comm : other, allreduce(kCount + k)));
                    check(calls[k]->start(&requests[k]));
                }
                for (std::size_t k = 0; k < requests.size(); ++k) {
                    check(stretto_wait(&requests[k]));
                    if (calls[k]->verdict() != "")
                        return kWrong;
                }
            }
            return counted().launches > 0 || stretto_rank(comm) != 0 ? kRight : kWrong;
        });
    }
}
