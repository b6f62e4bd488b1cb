// SPDX-License-Identifier: BSD-3-Clause
// Contexts that the program destroys: what the library has in them is made anew in others, and a
// call that is in flight there fails.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "device/streams_of_program.hpp"
#include "stretto/embedding.h"
#include "support/environment.hpp"
#include "support/job.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

extern "C" {
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuDevicePrimaryCtxReset_v2(int device);
}

namespace {

using test::check;
using test::check_cuda;
using test::contains;

constexpr int kRanks = 3;
constexpr std::size_t kCount = 1009, kBytes = kCount * sizeof(std::int32_t);

std::int32_t *device_memory() {
    unsigned long long pointer = 0;
    check_cuda(cuMemAlloc_v2(&pointer, kBytes));
    return reinterpret_cast<std::int32_t *>(pointer);
}

// Not one that the default stream waits for: that of another rank here, which is a thread, is the
// same.
void *new_stream() {
    return test::stream_with(test::kNonBlocking);
}

stretto_status sum(stretto_comm comm, std::int32_t *data, void *stream) {
    check(stretto_stream_begin(stream));
    const stretto_status status = stretto_iallreduce(comm, STRETTO_IN_PLACE, data, kCount,
                                                     STRETTO_INT32, STRETTO_SUM, nullptr);
    check(stretto_stream_end());
    return status;
}

// Sums in the current context, two in the order of a stream and one of the host.
void use(stretto_comm comm) {
    std::vector<std::int32_t> numbers(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
        numbers[i] = static_cast<std::int32_t>(i % 97) + stretto_rank(comm);
    std::int32_t *const data = device_memory();
    check_cuda(cuMemcpy(test::address(data), test::address(numbers.data()), kBytes));
    check_cuda(cuStreamSynchronize(nullptr)); // the other stream does not
    void *const stream = new_stream();
    for (int call = 0; call < 2; ++call)
        check(sum(comm, data, stream));
    check(stretto_stream_synchronize(data, stream));
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, data, kCount, STRETTO_INT32, STRETTO_SUM));
    check_cuda(cuMemcpy(test::address(numbers.data()), test::address(data), kBytes));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i)
        wrong += numbers[i] !=
                 kRanks * kRanks *
                     (kRanks * static_cast<std::int32_t>(i % 97) + kRanks * (kRanks - 1) / 2);
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("after a reset of the primary context calls have streams, events and memory again") {
    const test::OnDevice device;
    std::barrier together(kRanks);
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "ring"));
        void *context = nullptr;
        check_cuda(cuDevicePrimaryCtxRetain(&context, 0));
        check_cuda(cuCtxSetCurrent(context));
        for (int round = 0; round < 3; ++round) {
            use(comm);
            together.arrive_and_wait();
            use(comm); // no stream waits at its beginning, so all memory is registered
            together.arrive_and_wait();
            simulated_cuda::Counts counts;
            if (stretto_rank(comm) == 0)
                simulated_cuda::simulated_cuda_reset();
            together.arrive_and_wait();
            use(comm);
            together.arrive_and_wait();
            simulated_cuda::simulated_cuda_counts(&counts);
            CHECK(counts.copies > 0);
            CHECK(counts.pageable_copies == 0);
            together.arrive_and_wait();
            if (stretto_rank(comm) == 0)
                check_cuda(cuDevicePrimaryCtxReset_v2(0));
            together.arrive_and_wait();
        }
    });
}

TEST_CASE("calls go on in another context when theirs was destroyed") {
    const test::OnDevice device;
    std::barrier together(kRanks);
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        for (int round = 0; round < 3; ++round) {
            void *context = nullptr;
            check_cuda(cuCtxCreate_v2(&context, 0, 0));
            use(comm);
            together.arrive_and_wait();
            check_cuda(cuCtxDestroy_v2(context));
            together.arrive_and_wait();
        }
        void *context = nullptr;
        check_cuda(cuDevicePrimaryCtxRetain(&context, 0));
        check_cuda(cuCtxSetCurrent(context));
        use(comm);
    });
}

TEST_CASE("memory is registered again when the context of its communicator was destroyed") {
    const test::OnDevice device;
    const test::With staged("STRETTO_CUDA_IPC", "off");
    const std::string job = test::fresh_job();
    std::barrier together(kRanks);
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        void *primary = nullptr, *temporary = nullptr;
        check_cuda(cuDevicePrimaryCtxRetain(&primary, 0));
        check_cuda(cuCtxSetCurrent(primary));
        use(comm);
        together.arrive_and_wait();
        check_cuda(cuCtxCreate_v2(&temporary, 0, 0));
        stretto_comm other = nullptr;
        check(stretto_init_explicit(stretto_rank(comm), kRanks, job.c_str(), &other));
        together.arrive_and_wait();
        check_cuda(cuCtxDestroy_v2(temporary));
        check_cuda(cuCtxSetCurrent(primary));
        for (int round = 0; round < 2; ++round) {
            together.arrive_and_wait();
            if (stretto_rank(comm) == 0)
                simulated_cuda::simulated_cuda_reset();
            together.arrive_and_wait();
            use(other);
            together.arrive_and_wait();
        }
        simulated_cuda::Counts counts;
        simulated_cuda::simulated_cuda_counts(&counts);
        CHECK(counts.copies > 0);
        CHECK(counts.pageable_copies == 0);
        together.arrive_and_wait();
        check(stretto_finalize(&other));
    });
}

TEST_CASE("a call in flight fails when its context is destroyed") {
    const test::OnDevice device;
    std::atomic<int> begun{0};
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        void *context = nullptr, *primary = nullptr;
        check_cuda(cuDevicePrimaryCtxRetain(&primary, 0));
        check_cuda(cuCtxSetCurrent(primary));
        const test::Pinned gate(1);
        gate.data()[0] = 0;
        check_cuda(cuCtxCreate_v2(&context, 0, 0));
        std::int32_t *const data = device_memory();
        void *const stream = new_stream();
        if (stretto_rank(comm) == 1) // its stream does not come to the call
            check_cuda(cuStreamWaitValue32_v2(stream, test::address(gate.data()), 1, 0));
        check(sum(comm, data, stream));
        ++begun;
        while (begun != kRanks)
            std::this_thread::yield();
        if (stretto_rank(comm) == 1)
            check_cuda(cuCtxDestroy_v2(context));
        CHECK(stretto_barrier(comm) == STRETTO_ERR_SYSTEM);
        const std::string text = stretto_last_error();
        CAPTURE(text);
        CHECK(contains(text, "cuCtxPushCurrent: CUDA_ERROR_CONTEXT_IS_DESTROYED"));
    });
}
