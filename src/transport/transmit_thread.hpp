// SPDX-License-Identifier: BSD-3-Clause
// A thread that carries on what a rank has left unsent when it went to compute.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace stretto::transport {

// Whoever waits for other ranks carries, so this thread has nothing to do until nobody has carried
// for a while; until something is unsent, there is no thread.
class TransmitThread {
public:
    static constexpr std::chrono::microseconds kLeaveUs{1000};

    // `round` carries once and tells whether all is sent; `leave` is the while.
    TransmitThread(std::function<bool()> round, std::chrono::microseconds leave)
        : round_(std::move(round)), leave_(leave) {}
    ~TransmitThread() { stop(); }
    TransmitThread(const TransmitThread &) = delete;
    TransmitThread &operator=(const TransmitThread &) = delete;

    void unsent(); // something has yet to be sent
    void carried() { rounds_.fetch_add(1, std::memory_order_relaxed); }
    void stop(); // for good

private:
    void run();

    const std::function<bool()> round_;
    const std::chrono::microseconds leave_;
    std::atomic<std::uint64_t> rounds_{0}; // that anybody made
    std::atomic<bool> busy_{false};        // the thread knows that something is unsent
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false;
    std::thread thread_;
};

} // namespace stretto::transport
