// SPDX-License-Identifier: BSD-3-Clause
// An allreduce of ranks that share a device is one pass of one process, and goes by steps where
// that cannot be.  Ranks are processes.
#include "doctest.h"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/types.hpp"
#include "device/allreduce.hpp"
#include "device/held_kernels.hpp"
#include "device/ordered_vector.hpp"
#include "stretto/communicators.h"
#include "support/environment.hpp"
#include "support/exact.hpp"
#include "support/job.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"

using namespace test;

namespace {

constexpr int kCalls = 4;

// Of some repeated calls, in this process.
Counts counts_of_calls(OrderedVector &vector, stretto_comm comm, Order order, bool &right) {
    for (int call = 0; call < 2; ++call)
        right = vector.sum(comm, order) && right;
    check(stretto_barrier(comm));
    simulated_cuda::simulated_cuda_reset();
    for (int call = 0; call < kCalls; ++call)
        right = vector.sum(comm, order) && right;
    const Counts counts = counted();
    check(stretto_barrier(comm));
    return counts;
}

// Whether those calls were one kernel each, of the first rank.
bool are_one_pass(const Counts &counts, stretto_comm comm, std::size_t count) {
    const auto ranks = static_cast<std::uint64_t>(stretto_size(comm));
    const std::uint64_t calls = stretto_rank(comm) == 0 ? kCalls : 0;
    return asks_nothing(counts) && counts.launches == calls &&
           counts.kernel_bytes == calls * 2 * ranks * 4 * count;
}

} // namespace

TEST_CASE("one kernel of one process performs a call of any length") {
    for (const int ranks : {2, 3, 5, 8})
        for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{1009}, kCount})
            for (const Order order : {Order::host, Order::stream}) {
                CAPTURE(ranks);
                CAPTURE(count);
                CAPTURE(static_cast<int>(order));
                on_free_ranks(ranks, [&](stretto_comm comm) {
                    OnDevice device;
                    OrderedVector vector(device, count, new_stream());
                    bool right = true;
                    const Counts counts = counts_of_calls(vector, comm, order, right);
                    return right && are_one_pass(counts, comm, count) ? kRight : kWrong;
                });
            }
}

TEST_CASE("the first call with new memory is one pass as well") {
    on_free_ranks(kRanks, [](stretto_comm comm) {
        OnDevice device;
        OrderedVector first(device, kCount, new_stream()), second(device, kCount, new_stream());
        bool right = first.sum(comm, Order::host);
        check(stretto_barrier(comm));
        simulated_cuda::simulated_cuda_reset();
        right = second.sum(comm, Order::host) && right;
        const Counts counts = counted();
        return right && counts.copies == 0 && counts.launches == (stretto_rank(comm) == 0 ? 1u : 0u)
                   ? kRight
                   : kWrong;
    });
}

TEST_CASE("averages are divided by the process that reduces") {
    for (const int ranks : {2, 5})
        on_free_ranks(ranks, [](stretto_comm comm) {
            const OnDevice device(OnDevice::Buffers::reused);
            for (int dtype = STRETTO_FLOAT16; dtype < STRETTO_BOOL; ++dtype)
                for (const std::size_t count : {std::size_t{3}, kCount}) {
                    simulated_cuda::simulated_cuda_reset();
                    Call call = allreduce(count);
                    call.dtype = static_cast<stretto_dtype>(dtype);
                    call.op = STRETTO_AVG;
                    call.in_place = dtype % 2 == 0;
                    for (int round = 0; round < 2; ++round)
                        if (play(comm, call) != "")
                            return kWrong;
                    if (stretto_rank(comm) != 0 && counted().launches != 0)
                        return kWrong;
                }
            return kRight;
        });
}

TEST_CASE("any count, type and operation, in place or not") {
    for (const int ranks : {2, 3, 5})
        on_free_ranks(ranks, [](stretto_comm comm) {
            const OnDevice device(OnDevice::Buffers::reused);
            std::size_t salt = 0;
            for (int dtype = 0; dtype < 15; ++dtype)
                for (const stretto_op op :
                     {STRETTO_SUM, STRETTO_PROD, STRETTO_MIN, STRETTO_MAX, STRETTO_BAND,
                      STRETTO_BOR, STRETTO_BXOR, STRETTO_LAND, STRETTO_LOR, STRETTO_LXOR})
                    for (const std::size_t count :
                         {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{4099}}) {
                        if (!stretto::supports(static_cast<stretto::Dtype>(dtype),
                                               static_cast<stretto::ReduceOp>(op)))
                            continue;
                        Call call = allreduce(count);
                        call.dtype = static_cast<stretto_dtype>(dtype);
                        call.op = op;
                        call.in_place = ++salt % 2 == 0;
                        call.nonblocking = salt % 3 == 0;
                        call.salt = salt;
                        call.send_offset = salt % 3 * 16;
                        call.recv_offset = salt % 5 * 16;
                        if (play(comm, call) != "")
                            return kWrong;
                    }
            return kRight;
        });
}

TEST_CASE("ranks that do not ask lead all to the steps of the plan, call by call") {
    for (const int odd : {0, 1, 2}) // has host memory in every other call
        for (const std::size_t count : {std::size_t{5}, kCount}) {
            CAPTURE(odd);
            CAPTURE(count);
            on_free_ranks(kRanks, [&](stretto_comm comm) {
                OnDevice device;
                OrderedVector vector(device, count, new_stream());
                std::vector<std::int32_t> host(count);
                const int rank = stretto_rank(comm);
                for (int call = 0; call < 6; ++call) {
                    if (rank != odd || call % 2 == 0) {
                        if (!vector.sum(comm, call % 3 == 0 ? Order::stream : Order::host))
                            return kWrong;
                        continue;
                    }
                    for (std::size_t i = 0; i < count; ++i)
                        host[i] = static_cast<std::int32_t>(i) * (rank + 1);
                    if (!sum_by_host(comm, host.data(), count))
                        return kWrong;
                    for (std::size_t i = 0; i < count; ++i)
                        if (host[i] != static_cast<std::int32_t>(i) * (kRanks * (kRanks + 1) / 2))
                            return kWrong;
                }
                return kRight;
            });
        }
}

TEST_CASE("settings of one rank, another device, or a forced algorithm lead to steps") {
    enum class Why { setting, device, algorithm };
    for (const Why why : {Why::setting, Why::device, Why::algorithm})
        for (const int odd : {0, 2}) {
            CAPTURE(static_cast<int>(why));
            CAPTURE(odd);
            const std::string job = fresh_job();
            const auto codes = on_bare_processes(kRanks, [&](int rank) {
                if (why == Why::setting && rank == odd)
                    setenv("STRETTO_GPU_LAUNCH", odd == 0 ? "own" : "passes", 1);
                stretto_comm comm = nullptr;
                if (stretto_init_explicit(rank, kRanks, job.c_str(), &comm) != STRETTO_OK)
                    return kNotJoined;
                if (why == Why::algorithm)
                    check(stretto_force_algorithm(comm, "ring"));
                if (why == Why::device && rank == odd)
                    simulated_cuda::simulated_cuda_other_device();
                OnDevice device;
                OrderedVector vector(device, kCount, new_stream()), other(device, 9, new_stream());
                bool right = true;
                for (int call = 0; call < 4; ++call)
                    right = vector.sum(comm, Order::host) && other.sum(comm) && right;
                return right ? kRight : kWrong;
            });
            CHECK(codes == std::vector<int>(kRanks, kRight));
        }
}

TEST_CASE("very many calls in flight, of which the places of questions are used again") {
    on_free_ranks(kRanks, [](stretto_comm comm) {
        constexpr std::size_t kMany = 200;
        const OnDevice device(OnDevice::Buffers::reused);
        const int rank = stretto_rank(comm);
        for (int round = 0; round < 2; ++round) {
            std::vector<std::unique_ptr<Played>> calls;
            std::vector<stretto_request> requests(kMany);
            for (std::size_t k = 0; k < kMany; ++k) {
                calls.push_back(prepare(comm, allreduce(1 + k % 90)));
                check(calls[k]->start(&requests[k]));
                if (k % 64 == 63 && rank == round) // the others are far ahead
                    std::this_thread::sleep_for(std::chrono::milliseconds(30));
            }
            for (std::size_t k = 0; k < kMany; ++k) {
                const std::size_t next = rank == 1 ? kMany - 1 - k : k;
                check(stretto_wait(&requests[next]));
                if (calls[next]->verdict() != "")
                    return kWrong;
            }
        }
        return kRight;
    });
}

TEST_CASE("many streams at once, and communicators") {
    on_free_ranks(kRanks, [](stretto_comm comm) {
        OnDevice device;
        stretto_comm other = nullptr;
        check(stretto_comm_dup(comm, &other));
        std::vector<std::unique_ptr<OrderedVector>> vectors;
        for (std::size_t k = 0; k < 6; ++k)
            vectors.push_back(
                std::make_unique<OrderedVector>(device, k % 2 == 0 ? 11 : kCount, new_stream()));
        for (auto &vector : vectors)
            vector->fill(comm);
        for (int call = 0; call < 5; ++call)
            for (std::size_t k = 0; k < vectors.size(); ++k)
                check(vectors[k]->begin(k % 3 == 0 ? other : comm));
        for (auto &vector : vectors) {
            vector->synchronize();
            if (!vector->right(comm, 5))
                return kWrong;
        }
        return kRight;
    });
}

TEST_CASE("a rank that does not come is named, and so is a leader") {
    for (const int late : {0, 2}) {
        CAPTURE(late);
        SharedCounter told;
        on_free_ranks(kRanks, [&](stretto_comm comm) {
            OnDevice device;
            OrderedVector vector(device, 100, new_stream());
            if (!vector.sum(comm, Order::host))
                return kWrong;
            if (stretto_rank(comm) == late) {
                told.await(kRanks - 1);
                return kRight;
            }
            check(stretto_set_timeout(comm, 0.3));
            const stretto_status status = vector.sum_blocking(comm);
            const std::string error = stretto_last_error();
            ++*told;
            return status == STRETTO_ERR_TIMEOUT && contains(error, "rank " + std::to_string(late))
                       ? kRight
                       : kWrong;
        });
    }
}

TEST_CASE("ranks hear of a leader that dies, in its pass or before it") {
    for (const bool in_its_pass : {true, false})
        for (const Order order : {Order::stream, Order::host}) {
            CAPTURE(in_its_pass);
            CAPTURE(static_cast<int>(order));
            const auto codes = on_processes(kRanks, [&](stretto_comm comm) {
                OnDevice device;
                OrderedVector vector(device, kCount, new_stream());
                if (!vector.get_ready(comm))
                    return kWrong;
                std::thread other;
                if (stretto_rank(comm) == 0) {
                    if (!in_its_pass)
                        kill(getpid(), SIGKILL);
                    simulated_cuda::simulated_cuda_hold(true);
                    simulated_cuda::simulated_cuda_reset();
                    other = when_launched(1, [] { kill(getpid(), SIGKILL); });
                }
                if (order == Order::host)
                    (void)vector.sum_blocking(comm);
                else
                    while (vector.begin(comm) == STRETTO_OK)
                        vector.synchronize();
                if (other.joinable())
                    other.join();
                return contains(stretto_last_error(), "rank 0") ? kRight : kWrong;
            });
            CHECK(codes == std::vector<int>{-SIGKILL, kRight, kRight});
        }
}

TEST_CASE("a call that fails waits for the pass of the leader, which writes to all") {
    for (const Order order : {Order::stream, Order::host}) {
        CAPTURE(static_cast<int>(order));
        HeldKernels held;
        on_free_ranks(kRanks, [&](stretto_comm comm) {
            OnDevice device;
            OrderedVector vector(device, kCount, new_stream());
            if (!vector.get_ready(comm))
                return kWrong;
            std::thread other;
            if (stretto_rank(comm) == 0)
                other = held.hold(1);
            else if (stretto_rank(comm) == 2)
                other = held.fail([&] { (void)stretto_comm_abort(comm, "of the test"); });
            return held.sum(vector, comm, order, std::move(other));
        });
    }
}

TEST_CASE("an error of the pass is an error of all") {
    on_free_ranks(kRanks, [](stretto_comm comm) {
        OnDevice device;
        OrderedVector vector(device, kCount, new_stream());
        if (!vector.get_ready(comm))
            return kWrong;
        if (stretto_rank(comm) == 0)
            simulated_cuda::simulated_cuda_fail(0, 700);
        const stretto_status status = vector.sum_blocking(comm);
        const std::string error = stretto_last_error();
        return status != STRETTO_OK && contains(error, "rank 0") &&
                       contains(error, "CUDA_ERROR_ILLEGAL_ADDRESS")
                   ? kRight
                   : kWrong;
    });
}
