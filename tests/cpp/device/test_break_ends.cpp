// SPDX-License-Identifier: BSD-3-Clause
// Calls that are one pass: one that is interrupted.  Ranks are processes.
#include "doctest.h"

#include <thread>
#include <vector>

#include "device/held_kernels.hpp"
#include "device/ordered_vector.hpp"
#include "stretto/waiting.h"

using namespace test;

TEST_CASE("an interrupted call waits for the pass of the leader, which writes to all") {
    for (const bool nonblocking : {false, true}) {
        CAPTURE(nonblocking);
        HeldKernels held;
        const auto codes = on_processes(kRanks, [&](stretto_comm comm) {
            OnDevice device;
            OrderedVector vector(device, kCount, new_stream());
            if (!vector.sum(comm, Order::host) || !vector.sum(comm, Order::host))
                return kWrong;
            vector.fill(comm);
            check(stretto_barrier(comm));
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
