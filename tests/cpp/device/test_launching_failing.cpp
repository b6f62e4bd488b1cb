// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong while one process launches the kernels of all ranks of a device.
#include "doctest.h"

#include <chrono>
#include <csignal>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "device/held_kernels.hpp"
#include "device/ordered_vector.hpp"
#include "support/environment.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"

using namespace test;

namespace {

// Repeated calls, until ranks have opened one another's memory.
bool warm(OrderedVector &vector, stretto_comm comm) {
    return vector.sum(comm, Order::host) && vector.sum(comm, Order::host) &&
           vector.sum(comm, Order::host);
}

} // namespace

TEST_CASE("if the delegate does not come, the others launch their own") {
    const With shared("STRETTO_GPU_LAUNCH", "passes");
    SharedCounter stopped, launched;
    const auto codes = on_processes(
        4,
        [&](stretto_comm comm) {
            OnDevice device;
            check(stretto_force_algorithm(comm, "direct"));
            OrderedVector vector(device, kCount, new_stream());
            if (!warm(vector, comm))
                return kWrong;
            vector.fill(comm);
            check(stretto_barrier(comm));
            simulated_cuda::simulated_cuda_reset();
            if (stretto_rank(comm) == 0) { // its cells are there, and it is not
                stretto_request request = nullptr;
                check(vector.begin(comm, &request));
                raise(SIGSTOP);
                return stretto_wait(&request) == STRETTO_OK && vector.right(comm) ? kRight : kWrong;
            }
            stopped.await(1);
            std::thread other = when_launched(1, [&] { ++*launched; });
            stretto_request request = nullptr;
            check(vector.begin(comm, &request));
            const stretto_status status = stretto_wait(&request);
            other.join();
            return status == STRETTO_OK && vector.right(comm) ? kRight : kWrong;
        },
        [&](const std::vector<pid_t> &children) {
            int status = 0;
            (void)waitpid(children[0], &status, WUNTRACED);
            ++*stopped;
            launched.await(3);
            kill(children[0], SIGCONT);
        });
    CHECK(codes == std::vector<int>(4, kRight));
}

TEST_CASE("passes that come back while they are taken") {
    const With shared("STRETTO_GPU_LAUNCH", "passes");
    on_ranks(kRanks, [](stretto_comm comm) {
        OnDevice device;
        OrderedVector vector(device, kCount, new_stream());
        for (int round = 0; round < 36; ++round) {
            vector.fill(comm);
            check(stretto_barrier(comm));
            if (stretto_rank(comm) == 0)
                std::this_thread::sleep_for(std::chrono::microseconds(50 * (round % 12)));
            check(vector.begin(comm));
            vector.synchronize();
            if (!vector.right(comm))
                return kWrong;
        }
        return kRight;
    });
}

TEST_CASE("ranks hear of a delegate that dies with their passes") {
    const With shared("STRETTO_GPU_LAUNCH", "shared");
    for (const Order order : {Order::stream, Order::host}) {
        CAPTURE(static_cast<int>(order));
        const auto codes = on_processes(kRanks, [&](stretto_comm comm) {
            OnDevice device;
            check(stretto_force_algorithm(comm, "direct"));
            OrderedVector vector(device, kCount, new_stream());
            if (!warm(vector, comm))
                return kWrong;
            vector.fill(comm);
            check(stretto_barrier(comm));
            std::thread other;
            if (stretto_rank(comm) == 0) {
                simulated_cuda::simulated_cuda_hold(true);
                simulated_cuda::simulated_cuda_reset();
                other = when_launched(kRanks, [] { kill(getpid(), SIGKILL); });
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

TEST_CASE("a call that fails waits for kernels that a delegate has taken, of any rank") {
    const With shared("STRETTO_GPU_LAUNCH", "shared");
    enum class Ends { aborts, dies };
    for (const Ends how : {Ends::aborts, Ends::dies})
        for (const Order order : {Order::stream, Order::host}) {
            CAPTURE(static_cast<int>(how));
            CAPTURE(static_cast<int>(order));
            HeldKernels held;
            const auto codes = on_processes(kRanks, [&](stretto_comm comm) {
                OnDevice device;
                check(stretto_force_algorithm(comm, "direct"));
                OrderedVector vector(device, kCount, new_stream());
                if (!warm(vector, comm))
                    return kWrong;
                vector.fill(comm);
                check(stretto_barrier(comm));
                std::thread other;
                if (stretto_rank(comm) == 0) // its kernels are those of all
                    other = held.hold(kRanks);
                else if (stretto_rank(comm) == 2 && how == Ends::aborts)
                    other = held.fail([&] { (void)stretto_comm_abort(comm, "of the test"); });
                else if (stretto_rank(comm) == 2)
                    other = held.fail([] {}, [] { kill(getpid(), SIGKILL); });
                return held.sum(vector, comm, order, std::move(other));
            });
            CHECK(codes == std::vector<int>{kRight, kRight, how == Ends::dies ? -SIGKILL : kRight});
        }
}

TEST_CASE("an error of a kernel that a rank launches for others is an error of all") {
    const With shared("STRETTO_GPU_LAUNCH", "shared");
    for (const std::uint64_t after : {0u, 1u, 2u}) { // kernels
        CAPTURE(after);
        on_ranks(kRanks, [&](stretto_comm comm) {
            OnDevice device;
            OrderedVector vector(device, kCount, new_stream());
            if (!warm(vector, comm))
                return kWrong;
            vector.fill(comm);
            check(stretto_barrier(comm));
            if (stretto_rank(comm) == 0)
                simulated_cuda::simulated_cuda_fail(after, 700);
            const stretto_status status = vector.sum_blocking(comm);
            const std::string error = stretto_last_error();
            return status != STRETTO_OK && contains(error, "rank 0") &&
                           contains(error, "CUDA_ERROR_ILLEGAL_ADDRESS")
                       ? kRight
                       : kWrong;
        });
    }
}
