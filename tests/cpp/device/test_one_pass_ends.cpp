// SPDX-License-Identifier: BSD-3-Clause
// Calls that are one pass: one that is interrupted, and ranks that are far ahead.  Ranks are
// processes.
#include "doctest.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "device/held_kernels.hpp"
#include "device/ordered_vector.hpp"
#include "stretto/waiting.h"
#include "support/environment.hpp"

using namespace test;

TEST_CASE("an interrupted call waits for the pass of the leader, which writes to all") {
    for (const bool nonblocking : {false, true}) {
        CAPTURE(nonblocking);
        HeldKernels held;
        const auto codes = on_processes(kRanks, [&](stretto_comm comm) {
            OnDevice device;
            OrderedVector vector(device, kCount, new_stream());
            if (!vector.get_ready(comm))
                return kWrong;
            std::thread other;
            if (stretto_rank(comm) == 0)
                other = held.hold(1);
            else if (stretto_rank(comm) == 2)
                stretto_set_interrupt(
                    [](void *context) {
                        auto &all = *static_cast<HeldKernels *>(context);
                        return *all.launched == 1 ? ++*all.failed : 0;
                    },
                    &held);
            stretto_request request = nullptr;
            if (nonblocking)
                check(vector.begin(comm, &request));
            const stretto_status status =
                nonblocking ? stretto_wait(&request) : vector.sum_blocking(comm);
            const bool waited = *held.released == 1;
            if (other.joinable())
                other.join();
            return waited && status == STRETTO_ERR_INTERRUPTED ? kRight : kWrong;
        });
        CHECK(codes == std::vector<int>(kRanks, kRight));
    }
}

TEST_CASE("a root with host memory that is ahead asks in the place at which the leader looks") {
    const With limit("STRETTO_TIMEOUT", "10");
    constexpr int kAhead = 64; // as many calls as questions have places
    const auto codes = on_processes(kRanks, [](stretto_comm comm) {
        OnDevice device;
        constexpr std::size_t kFew = 5;
        std::vector<std::int32_t> host(kFew);
        auto *const there = reinterpret_cast<std::int32_t *>(device.allocate(4 * kFew, true));
        const auto put = [&](int value) {
            std::vector<std::int32_t> data(kFew, value);
            device.copy(reinterpret_cast<std::byte *>(there),
                        reinterpret_cast<std::byte *>(data.data()), 4 * kFew);
        };
        const auto holds = [&](int value) {
            std::vector<std::int32_t> data(kFew);
            device.copy(reinterpret_cast<std::byte *>(data.data()),
                        reinterpret_cast<std::byte *>(there), 4 * kFew);
            return data == std::vector<std::int32_t>(kFew, value);
        };
        constexpr int kRoot = 1;
        const bool root = stretto_rank(comm) == kRoot;
        check(stretto_barrier(comm));
        if (!root) // the root is ahead
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
        bool right = true;
        for (int call = 0; call < 2 * kAhead; ++call) {
            const bool by_host = root && call < kAhead;
            host.assign(kFew, call);
            if (!by_host)
                put(root ? call : -1);
            if (stretto_broadcast(comm, by_host ? host.data() : there, kFew, STRETTO_INT32,
                                  kRoot) != STRETTO_OK)
                return kWrong;
            right = right && (by_host || holds(call));
        }
        return right ? kRight : kWrong;
    });
    CHECK(codes == std::vector<int>(kRanks, kRight));
}
