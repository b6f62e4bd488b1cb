// SPDX-License-Identifier: BSD-3-Clause
// Device memory that the library gives to allocators of other libraries.
#include "doctest.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/on_device.hpp"
#include "stretto/embedding.h"
#include "support/text.hpp"
#include "support/world.hpp"

using test::check;
using test::contains;

namespace {

constexpr std::size_t kCount = 40'003;

} // namespace

TEST_CASE("collectives use memory that the library has given") {
    test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(3, [&](stretto_comm comm) {
        void *const memory = stretto_cuda_alloc(4 * kCount, 0, nullptr);
        REQUIRE(memory != nullptr);
        CHECK(stretto_on_device(memory) == 1);
        std::vector<std::int32_t> numbers(kCount);
        for (std::size_t i = 0; i < kCount; ++i)
            numbers[i] = static_cast<std::int32_t>(i) * (stretto_rank(comm) + 1);
        auto *const here = reinterpret_cast<std::byte *>(numbers.data());
        device.copy(static_cast<std::byte *>(memory), here, 4 * kCount);
        check(
            stretto_allreduce(comm, STRETTO_IN_PLACE, memory, kCount, STRETTO_INT32, STRETTO_SUM));
        device.copy(here, static_cast<std::byte *>(memory), 4 * kCount);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < kCount; ++i)
            wrong += numbers[i] != static_cast<std::int32_t>(i) * 6;
        CHECK(wrong == 0);
        check(stretto_barrier(comm));
        stretto_cuda_free(memory, 4 * kCount, 0, nullptr);
        CHECK(stretto_on_device(memory) == 0);
    });
}

TEST_CASE("memory that there is not") {
    const test::OnDevice device(test::OnDevice::Buffers::asked);
    test::with_ranks(1, [](stretto_comm) {
        CHECK(stretto_cuda_alloc(0, 0, nullptr) == nullptr);
        CHECK(contains(stretto_last_error(), "no bytes"));
        CHECK(stretto_cuda_alloc(-1, 0, nullptr) == nullptr);
        CHECK(stretto_cuda_alloc(64, 99, nullptr) == nullptr);
        CHECK(contains(stretto_last_error(), "cuDevicePrimaryCtxRetain"));
        CHECK(stretto_cuda_alloc(PTRDIFF_MAX, 0, nullptr) == nullptr);
        CHECK(contains(stretto_last_error(), "OUT_OF_MEMORY"));
        stretto_cuda_free(nullptr, 0, 0, nullptr);
        int host = 0;
        stretto_cuda_free(&host, sizeof(host), 0, nullptr); // is left alone
        CHECK(host == 0);
    });
}
