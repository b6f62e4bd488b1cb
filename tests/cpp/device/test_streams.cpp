// SPDX-License-Identifier: BSD-3-Clause
// Streams of the program: work that it has given to them comes before what waits for them.
#include "doctest.h"

#include <atomic>
#include <cstdint>
#include <thread>

#include "device/on_device.hpp"
#include "device/simulated_cuda.hpp"
#include "device/streams_of_program.hpp"
#include "stretto/embedding.h"
#include "support/text.hpp"

namespace {

using test::address;

std::uint64_t synchronizations() {
    simulated_cuda::Counts counts;
    simulated_cuda::simulated_cuda_counts(&counts);
    return counts.synchronizations;
}

} // namespace

TEST_CASE("a thread waits for the work of a stream, and the default streams are ones") {
    test::OnDevice device;
    std::byte *const there = device.allocate(64, true);
    void *pinned = nullptr, *made = nullptr;
    REQUIRE(cuMemHostAlloc(&pinned, 4096, 0) == 0);
    REQUIRE(cuStreamCreate(&made, 0) == 0);
    auto *const words = static_cast<std::uint32_t *>(pinned);
    std::atomic_ref<std::uint32_t> gate(words[0]);
    std::uint32_t round = 0;
    const auto handle = [](std::uintptr_t number) { return reinterpret_cast<void *>(number); };
    for (void *const stream : {handle(0), handle(1), handle(2), made}) {
        CAPTURE(stream);
        gate = 0;
        words[1] = ++round;
        // The copy happens when this thread waits, and not before.
        REQUIRE(cuStreamWaitValue32_v2(stream, address(words), 1, 0) == 0);
        REQUIRE(cuMemcpyAsync(address(there), address(words + 1), 4, stream) == 0);
        const std::uint64_t before = synchronizations();
        std::thread opens([&] {
            while (synchronizations() == before)
                std::this_thread::yield();
            gate = 1;
        });
        CHECK(stretto_stream_synchronize(there, stream) == STRETTO_OK);
        opens.join();
        std::uint32_t found = 0;
        device.copy(reinterpret_cast<std::byte *>(&found), there, sizeof(found));
        CHECK(found == round);
    }
    CHECK(cuMemFreeHost(pinned) == 0);
    device.free(there);
}

TEST_CASE("an error of a stream is an error of the wait") {
    test::OnDevice device;
    std::byte *const there = device.allocate(64, true);
    constexpr int kIllegalAddress = 700;
    std::uint32_t value = 0;
    simulated_cuda::simulated_cuda_fail(0, kIllegalAddress);
    (void)cuMemcpyAsync(address(there), address(&value), 4, nullptr);
    CHECK(stretto_stream_synchronize(there, nullptr) == STRETTO_ERR_SYSTEM);
    CHECK(test::contains(stretto_last_error(), "cuStreamSynchronize"));
    CHECK(test::contains(stretto_last_error(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    simulated_cuda::simulated_cuda_fail(0, 0);
    CHECK(stretto_stream_synchronize(nullptr, nullptr) == STRETTO_ERR_ARGUMENT);
    device.free(there);
}
