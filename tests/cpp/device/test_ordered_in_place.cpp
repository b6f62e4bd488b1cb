// SPDX-License-Identifier: BSD-3-Clause
// Calls in the order of a stream that use memory of other ranks in place: what they need of it is
// opened before their streams wait.
#include "doctest.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "device/ordered_vector.hpp"
#include "stretto/communicators.h"
#include "support/environment.hpp"
#include "support/job.hpp"

extern "C" {
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
}

using namespace test;

// Each rank's kernels are counted in its process.
static const With each_launches("STRETTO_GPU_LAUNCH", "own");

TEST_CASE("a repeated call reads and writes the memory of other ranks, and opens nothing") {
    for (const int ranks : {2, 3, 5, 7, 8}) {
        CAPTURE(ranks);
        on_ranks(ranks, [&](stretto_comm comm) {
            test::OnDevice device;
            const auto parts = static_cast<std::size_t>(ranks);
            constexpr std::size_t kDivisible = 168'000; // by all of these
            OrderedVector vector(device, kDivisible, new_stream());
            // All ranks list their memory in the first call, and open that of others in the second.
            bool right = vector.sum(comm) && vector.sum(comm);
            const Counts before = counted();
            const Counts counts = counts_of(vector, comm, right);
            return right && before.opened == parts - 1 && before.handles == 1 &&
                           before.asked_while_waiting == 0 && in_place(counts) &&
                           counts.kernel_bytes == kDivisible * 4 / parts * 2 * parts
                       ? kRight
                       : kWrong;
        });
    }
}

TEST_CASE("any count") {
    for (const int ranks : {1, 2, 3, 5, 8})
        on_ranks(ranks, [&](stretto_comm comm) {
            test::OnDevice device(test::OnDevice::Buffers::reused);
            const auto odd = static_cast<std::size_t>(ranks);
            for (int round = 0; round < 3; ++round)
                for (const std::size_t count : {std::size_t{0}, std::size_t{1}, odd - 1, odd + 1,
                                                std::size_t{32'771}, std::size_t{200'003}}) {
                    OrderedVector vector(device, count, new_stream());
                    if (!vector.sum(comm))
                        return kWrong;
                }
            return counted().asked_while_waiting == 0 && (ranks == 1 || counted().launches != 0)
                       ? kRight
                       : kWrong;
        });
}

TEST_CASE("while a stream waits nothing is opened, listed or closed; when none does, all is") {
    on_ranks(kRanks, [](stretto_comm comm) {
        stretto_comm other = nullptr;
        check(stretto_comm_dup(comm, &other));
        check(stretto_force_algorithm(other, "direct"));
        test::OnDevice device;
        OrderedVector first(device, kCount, new_stream()), held(device, kCount, new_stream()),
            late(device, kCount, new_stream());
        bool right = first.sum(comm); // the pools, the rings and the kernels of the process
        right = held.sum(other) && right;
        check(stretto_barrier(comm));
        // The call of `other` waits for rank 1.
        held.fill(other);
        if (stretto_rank(comm) != 1)
            check(held.begin(other));
        simulated_cuda::simulated_cuda_reset();
        for (int round = 0; round < 3; ++round)
            right = late.sum(comm) && right;
        const Counts meanwhile = counted();
        check(stretto_barrier(comm));
        if (stretto_rank(comm) == 1)
            check(held.begin(other));
        held.synchronize();
        right = held.right(other) && right;
        check(stretto_barrier(comm));
        // Any call lists what is new, and opens what was listed for all communicators.
        for (int round = 0; round < 2; ++round)
            right = late.sum(comm) && right;
        const Counts counts = counts_of(late, comm, right);
        const std::uint64_t opened = counted().opened;
        check(stretto_barrier(comm));
        simulated_cuda::simulated_cuda_reset();
        right = held.sum(other) && right;
        const bool waits = stretto_rank(comm) != 1;
        return right && meanwhile.asked_while_waiting == 0 &&
                       (!waits || (meanwhile.opened == 0 && meanwhile.handles == 0)) &&
                       meanwhile.launches == 0 && in_place(counts) && opened == 0 &&
                       in_place(counted())
                   ? kRight
                   : kWrong;
    });
}

TEST_CASE("a communicator ends when no stream waits for a call of another one") {
    on_ranks(2, [](stretto_comm comm) {
        OnDevice device;
        device.settle(); // the context is current, so the next communicator registers its memory
        stretto_comm other = nullptr;
        check(stretto_init_explicit(0, 1, fresh_job().c_str(), &other));
        OrderedVector vector(device, kCount, new_stream());
        bool right = vector.get_ready(comm);
        if (stretto_rank(comm) == 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        check(vector.begin(comm));
        simulated_cuda::simulated_cuda_reset();
        check(stretto_finalize(&other));
        right = right && counted().asked_while_waiting == 0;
        vector.synchronize();
        return right && vector.right(comm) ? kRight : kWrong;
    });
}

TEST_CASE("calls that no stream orders, and calls that one does, on one communicator") {
    on_ranks(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        OrderedVector vector(device, kCount, new_stream());
        bool right = true;
        for (int round = 0; round < 12; ++round) // each rank by itself
            right = vector.sum(comm, (round + stretto_rank(comm)) % 3 == 0 ? Order::host
                                                                           : Order::stream) &&
                    right;
        return right && in_place(counts_of(vector, comm, right)) ? kRight : kWrong;
    });
}

TEST_CASE("a rank with host memory, with memory that has no handle, or with STRETTO_CUDA_IPC=off") {
    enum class Odd { host, no_handle, off };
    for (const Odd odd : {Odd::host, Odd::no_handle, Odd::off}) {
        CAPTURE(static_cast<int>(odd));
        const std::string job = test::fresh_job();
        const auto codes = test::on_bare_processes(4, [&](int rank) {
            const bool is_odd = rank == 2;
            if (is_odd && odd == Odd::off)
                setenv("STRETTO_CUDA_IPC", "off", 1);
            stretto_comm comm = nullptr;
            if (stretto_init_explicit(rank, 4, job.c_str(), &comm) != STRETTO_OK)
                return test::kNotJoined;
            check(stretto_force_algorithm(comm, "direct"));
            test::OnDevice device;
            void *const stream = new_stream();
            if (is_odd)
                simulated_cuda::simulated_cuda_without_handles(odd == Odd::no_handle);
            OrderedVector on_device(device, kCount, stream);
            std::vector<std::int32_t> host(kCount);
            bool right = true;
            for (int round = 0; round < 4; ++round) {
                if (!is_odd || odd != Odd::host) {
                    right = on_device.sum(comm) && right;
                    continue;
                }
                for (std::size_t i = 0; i < kCount; ++i)
                    host[i] = static_cast<std::int32_t>(i) * (rank + 1);
                right = sum_by_host(comm, host.data(), kCount) && right;
                for (std::size_t i = 0; i < kCount; ++i)
                    right = host[i] == static_cast<std::int32_t>(i) * 10 && right;
            }
            check(stretto_barrier(comm));
            const Counts counts = counted();
            return right && counts.asked_while_waiting == 0 &&
                           (counts.opened != 0) == !(is_odd && odd != Odd::no_handle)
                       ? kRight
                       : kWrong;
        });
        CHECK(codes == std::vector<int>(4, kRight));
    }
}

TEST_CASE("memory that is freed and allocated again") {
    on_ranks(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        void *const stream = new_stream();
        const std::byte *first = nullptr;
        bool right = true;
        for (int round = 0; round < 8; ++round) {
            std::byte *const here = device.allocate(4, true);
            device.free(here);
            if (round > 0 && here != first)
                return kWrong; // else this tests nothing
            first = here;
            OrderedVector vector(device, kCount + static_cast<std::size_t>(round % 2), stream);
            right = vector.sum(comm) && vector.sum(comm) && right;
            right = in_place(counts_of(vector, comm, right)) && right;
            check(stretto_barrier(comm));
        }
        return right ? kRight : kWrong;
    });
}

TEST_CASE("many calls in flight, on several streams") {
    on_ranks(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        std::vector<std::unique_ptr<OrderedVector>> vectors;
        for (std::size_t k = 0; k < 3; ++k)
            vectors.push_back(std::make_unique<OrderedVector>(device, kCount + k, new_stream()));
        bool right = true;
        for (int round = 0; round < 2; ++round)
            for (const auto &vector : vectors)
                right = vector->sum(comm) && right;
        check(stretto_barrier(comm));
        simulated_cuda::simulated_cuda_reset();
        constexpr int kCalls = 90; // more than a rank gives places of its output
        for (const auto &vector : vectors)
            vector->fill(comm);
        for (int call = 0; call < kCalls; ++call)
            for (const auto &vector : vectors)
                check(vector->begin(comm));
        for (const auto &vector : vectors) {
            vector->synchronize();
            right = vector->right(comm, kCalls) && right;
        }
        return right && in_place(counted()) ? kRight : kWrong;
    });
}

TEST_CASE("memory is opened again in another context") {
    on_ranks(kRanks, [](stretto_comm comm) {
        bool right = true;
        test::OnDevice device; // which sets the primary context for each of its calls
        OrderedVector beside(device, kCount, new_stream());
        for (int round = 0; round < 3; ++round) {
            right = beside.sum(comm) && beside.sum(comm) && right;
            void *context = nullptr;
            if (cuCtxCreate_v2(&context, 0, 0) != 0)
                return kWrong;
            unsigned long long memory = 0;
            void *const stream = new_stream();
            if (cuMemAlloc_v2(&memory, 4 * kCount) != 0)
                return kWrong;
            std::vector<std::int32_t> mine(kCount);
            for (int call = 0; call < 3; ++call) {
                for (std::size_t i = 0; i < kCount; ++i)
                    mine[i] = static_cast<std::int32_t>(i) * (stretto_rank(comm) + 1);
                test::check_cuda(cuMemcpy(memory, test::address(mine.data()), 4 * kCount));
                test::check_cuda(cuStreamSynchronize(nullptr)); // the other stream does not
                check(stretto_stream_begin(stream));
                check(stretto_iallreduce(comm, STRETTO_IN_PLACE, reinterpret_cast<void *>(memory),
                                         kCount, STRETTO_INT32, STRETTO_SUM, nullptr));
                check(stretto_stream_end());
                check(stretto_stream_synchronize(reinterpret_cast<void *>(memory), stream));
                test::check_cuda(cuMemcpy(test::address(mine.data()), memory, 4 * kCount));
                for (std::size_t i = 0; i < kCount; ++i)
                    right = mine[i] == static_cast<std::int32_t>(i) * 6 && right;
            }
            check(stretto_barrier(comm));
            if (cuCtxDestroy_v2(context) != 0)
                return kWrong;
            check(stretto_barrier(comm));
        }
        return right && counted().launches != 0 && counted().asked_while_waiting == 0 ? kRight
                                                                                      : kWrong;
    });
}
