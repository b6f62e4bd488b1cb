// SPDX-License-Identifier: BSD-3-Clause
// Calls while the program captures CUDA graphs, and streams that do not exist.
#include "doctest.h"

#include <barrier>
#include <cstdint>

#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "device/streams_of_program.hpp"
#include "stretto/embedding.h"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using test::check;
using test::contains;
using test::kBlocking;
using test::kNonBlocking;
using test::Pinned;
using test::stream_with;

stretto_status sum(stretto_comm comm, std::int32_t *data, void *stream) {
    check(stretto_stream_begin(stream));
    const stretto_status status =
        stretto_iallreduce(comm, STRETTO_IN_PLACE, data, 1, STRETTO_INT32, STRETTO_SUM, nullptr);
    check(stretto_stream_end());
    return status;
}

} // namespace

TEST_CASE("a capture by another thread disturbs no call, and no call disturbs it") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    constexpr int kRanks = 3;
    std::barrier together(kRanks);
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4, true));
        Pinned number(1);
        number.data()[0] = 1;
        void *const stream = stream_with(kBlocking), *const other = stream_with(kBlocking);
        device.copy(reinterpret_cast<std::byte *>(data),
                    reinterpret_cast<const std::byte *>(number.data()), 4);
        together.arrive_and_wait();
        simulated_cuda::simulated_cuda_capture(other, true);
        simulated_cuda::simulated_cuda_reset();
        together.arrive_and_wait();
        check(sum(comm, data, stream)); // 3, by the first call of this communicator
        check(stretto_stream_synchronize(data, stream));
        check(stretto_allreduce(comm, STRETTO_IN_PLACE, data, 1, STRETTO_INT32, STRETTO_SUM)); // 9
        simulated_cuda::Counts counts;
        simulated_cuda::simulated_cuda_counts(&counts);
        CHECK(counts.refused_while_capturing == 0);
        device.copy(reinterpret_cast<std::byte *>(number.data()),
                    reinterpret_cast<const std::byte *>(data), 4);
        CHECK(number.data()[0] == kRanks * kRanks);
        together.arrive_and_wait();
        simulated_cuda::simulated_cuda_capture(other, false);
        device.free(reinterpret_cast<std::byte *>(data));
    });
}

TEST_CASE("the legacy default stream takes no call while a stream that it waits for is captured") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(1, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4, true));
        for (const unsigned flags : {kBlocking, kNonBlocking}) {
            void *const other = stream_with(flags);
            simulated_cuda::simulated_cuda_capture(other, true);
            const stretto_status expected = flags == 0 ? STRETTO_ERR_UNSUPPORTED : STRETTO_OK;
            for (void *const legacy : {static_cast<void *>(nullptr), reinterpret_cast<void *>(1)}) {
                CHECK(sum(comm, data, legacy) == expected);
                CHECK(stretto_stream_synchronize(data, legacy) == expected);
                if (expected != STRETTO_OK)
                    CHECK(contains(stretto_last_error(),
                                   "give another stream here, capture one "
                                   "that was made with cudaStreamNonBlocking"));
            }
            CHECK(sum(comm, data, reinterpret_cast<void *>(2)) == STRETTO_OK);
            CHECK(stretto_stream_synchronize(data, other) == STRETTO_ERR_UNSUPPORTED);
            CHECK(contains(stretto_last_error(), "is being captured into a CUDA graph"));
            simulated_cuda::simulated_cuda_capture(other, false);
            check(sum(comm, data, nullptr));
            check(stretto_stream_synchronize(data, nullptr));
            check(stretto_stream_synchronize(data, reinterpret_cast<void *>(2)));
        }
        device.free(reinterpret_cast<std::byte *>(data));
    });
}

TEST_CASE("a stream that was destroyed is an error of the call, and the communicator works") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(2, [&](stretto_comm comm) {
        auto *const data = reinterpret_cast<std::int32_t *>(device.allocate(4, true));
        void *const stream = stream_with(kBlocking), *const gone = stream_with(kBlocking);
        test::check_cuda(cuStreamDestroy_v2(gone));
        CHECK(sum(comm, data, gone) == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "CUDA_ERROR_INVALID_HANDLE"));
        CHECK(contains(stretto_last_error(), "was destroyed or is none of this process"));
        CHECK(stretto_stream_synchronize(data, gone) == STRETTO_ERR_ARGUMENT);
        check(sum(comm, data, stream));
        check(stretto_stream_synchronize(data, stream));
        device.free(reinterpret_cast<std::byte *>(data));
    });
}
