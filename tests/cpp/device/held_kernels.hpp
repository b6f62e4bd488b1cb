// SPDX-License-Identifier: BSD-3-Clause
// Kernels of one rank that stand still while a call fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>

#include "device/ordered_vector.hpp"
#include "stretto/communicators.h"
#include "support/shared_counter.hpp"

namespace test {

// Runs `then` in a thread when this process has launched so many kernels since the last reset.
inline std::thread when_launched(std::uint64_t kernels, std::function<void()> then) {
    return std::thread([kernels, then = std::move(then)] {
        while (counted().launches < kernels)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        then();
    });
}

// Made before the ranks are, which share the counters.
struct HeldKernels {
    SharedCounter launched, failed, released;

    // Of the rank whose kernels stand still, so many of them: until a while after the failure.
    std::thread hold(std::uint64_t kernels) {
        simulated_cuda::simulated_cuda_hold(true);
        simulated_cuda::simulated_cuda_reset();
        return when_launched(kernels, [this] {
            ++*launched;
            failed.await(1);
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            ++*released;
            simulated_cuda::simulated_cuda_hold(false);
        });
    }
    // Of another rank: fails when they are there.
    std::thread fail(std::function<void()> how, std::function<void()> then = [] {}) {
        return std::thread([this, how = std::move(how), then = std::move(then)] {
            launched.await(1);
            how();
            ++*failed;
            then();
        });
    }
    // A call meanwhile: kRight if it waits for the kernels, and returns an error, or its stream
    // goes on.  `other`: this rank's thread of those above, if it has one.
    int sum(OrderedVector &vector, stretto_comm comm, Order order, std::thread other) {
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
    }
};

} // namespace test
