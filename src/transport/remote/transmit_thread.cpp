// SPDX-License-Identifier: BSD-3-Clause
#include "transport/remote/transmit_thread.hpp"

#include "base/thread.hpp"

namespace stretto::transport {

void TransmitThread::unsent() {
    if (busy_.exchange(true, std::memory_order_acq_rel))
        return;
    const std::lock_guard lock(mutex_);
    if (stop_)
        return;
    if (!thread_.joinable())
        thread_ = named_thread("stretto-tx", [this] { run(); });
    changed_.notify_one();
}

void TransmitThread::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable())
        thread_.join();
}

void TransmitThread::run() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
        changed_.wait(lock, [this] { return stop_ || busy_.load(std::memory_order_acquire); });
        const std::uint64_t rounds = rounds_.load(std::memory_order_relaxed);
        changed_.wait_for(lock, leave_, [this] { return stop_; });
        if (stop_)
            return;
        if (rounds != rounds_.load(std::memory_order_relaxed))
            continue; // another thread does it
        lock.unlock();
        // A thread that leaves data unsent after this look sets the flag again.
        busy_.store(false, std::memory_order_release);
        bool again = true;
        try {
            again = !round_();
        } catch (...) { // the failure is posted, or ranks that wait for this one will find it
            again = false;
        }
        lock.lock();
        if (again)
            busy_.store(true, std::memory_order_release);
    }
}

} // namespace stretto::transport
