// SPDX-License-Identifier: BSD-3-Clause
// A thread that sends data which a rank left unsent when it went to compute.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace stretto::transport {

// A rank that waits sends by itself, so this thread has work only if the rank has not waited for a
// while.  The thread is started when data is left unsent for the first time.
class TransmitThread {
public:
    static constexpr std::chrono::microseconds kLeaveUs{1000};

    // `round` sends as much as possible and returns whether all is sent; `leave` is the while.
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
    std::atomic<std::uint64_t> rounds_{0}; // of any thread
    std::atomic<bool> busy_{false};        // the thread knows that data is unsent
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false;
    std::thread thread_;
};

} // namespace stretto::transport
