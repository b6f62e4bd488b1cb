// SPDX-License-Identifier: BSD-3-Clause
// What fails while calls in the order of a stream use memory of other ranks in place.
#include "doctest.h"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "device/ordered_vector.hpp"
#include "support/shared_counter.hpp"
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
        test::SharedCounter launched, failed, released;
        const auto codes = test::on_processes(kRanks, [&](stretto_comm comm) {
            test::OnDevice device;
            check(stretto_force_algorithm(comm, "direct"));
            OrderedVector vector(device, kCount, new_stream());
            if (!vector.sum(comm) || !vector.sum(comm) || !vector.sum(comm))
                return kWrong;
            vector.fill(comm);
            check(stretto_barrier(comm));
            std::thread other;
            if (stretto_rank(comm) == 1) { // its kernel stands still
                simulated_cuda::simulated_cuda_hold(true);
                simulated_cuda::simulated_cuda_reset();
                other = std::thread([&] {
                    while (counted().launches == 0)
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    ++*launched;
                    failed.await(1);
                    std::this_thread::sleep_for(std::chrono::milliseconds(300));
                    ++*released;
                    simulated_cuda::simulated_cuda_hold(false);
                });
            } else if (stretto_rank(comm) == 0) {
                other = std::thread([&] {
                    launched.await(1);
                    (void)stretto_comm_abort(comm, "of the test");
                    ++*failed;
                });
            }
            stretto_status status = STRETTO_OK;
            if (order == Order::stream) {
                status = vector.begin(comm);
                vector.synchronize();
            } else {
                status = vector.sum_blocking(comm);
            }
            const bool waited = *released == 1;
            if (other.joinable())
                other.join();
            return waited && (status == STRETTO_OK) == (order == Order::stream) ? kRight : kWrong;
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
