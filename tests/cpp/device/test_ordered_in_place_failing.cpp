// SPDX-License-Identifier: BSD-3-Clause
// What fails while calls in the order of a stream use memory of other ranks in place.
#include "doctest.h"

#include <csignal>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "device/held_kernels.hpp"
#include "device/ordered_vector.hpp"
#include "support/text.hpp"

using namespace test;

TEST_CASE("memory that cannot be opened is an error that names both ranks and a remedy") {
    on_ranks(kRanks, [](stretto_comm comm) {
        test::OnDevice device;
        OrderedVector vector(device, kCount, new_stream());
        if (stretto_rank(comm) == 1)
            simulated_cuda::simulated_cuda_fail_opening(2);
        std::string error;
        for (int round = 0; round < 4 && error.empty(); ++round) {
            vector.fill(comm);
            if (vector.begin(comm) != STRETTO_OK)
                error = stretto_last_error();
            else
                vector.synchronize();
        }
        return contains(error, "rank 1") && contains(error, "does not reach the memory of rank") &&
                       contains(error, "cuIpcOpenMemHandle of another rank's memory: "
                                       "CUDA_ERROR_OUT_OF_MEMORY") &&
                       contains(error, "STRETTO_CUDA_IPC=off")
                   ? kRight
                   : kWrong;
    });
}

TEST_CASE("a call that fails waits for kernels of other ranks in its memory") {
    for (const Order order : {Order::stream, Order::host}) {
        CAPTURE(static_cast<int>(order));
        test::HeldKernels held;
        const auto codes = test::on_processes(kRanks, [&](stretto_comm comm) {
            test::OnDevice device;
            check(stretto_force_algorithm(comm, "direct"));
            OrderedVector vector(device, kCount, new_stream());
            if (!vector.sum(comm) || !vector.sum(comm) || !vector.sum(comm))
                return kWrong;
            vector.fill(comm);
            check(stretto_barrier(comm));
            std::thread other;
            if (stretto_rank(comm) == 1)
                other = held.hold(1);
            else if (stretto_rank(comm) == 0)
                other = held.fail([&] { (void)stretto_comm_abort(comm, "of the test"); });
            return held.sum(vector, comm, order, std::move(other));
        });
        CHECK(codes == std::vector<int>(kRanks, kRight));
    }
}

TEST_CASE("streams go on when a process dies whose memory is read") {
    for (const int calls : {0, 1, 3, 8}) { // before it dies
        CAPTURE(calls);
        const auto codes = test::on_processes(kRanks, [&](stretto_comm comm) {
            test::OnDevice device;
            check(stretto_force_algorithm(comm, "direct"));
            OrderedVector vector(device, kCount, new_stream());
            if (!vector.sum(comm) || !vector.sum(comm) || !vector.sum(comm))
                return kWrong;
            const simulated_cuda::Speed slow{5'000, 0};
            simulated_cuda::simulated_cuda_speed(&slow);
            vector.fill(comm);
            for (int call = 0;; ++call) {
                if (call == calls && stretto_rank(comm) == 1)
                    kill(getpid(), SIGKILL);
                if (vector.begin(comm) != STRETTO_OK)
                    break;
                vector.synchronize();
            }
            return contains(stretto_last_error(), "rank 1") ? kRight : kWrong;
        });
        CHECK(codes == std::vector<int>{kRight, -SIGKILL, kRight});
    }
}
