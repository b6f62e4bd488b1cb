// SPDX-License-Identifier: BSD-3-Clause
// Decides when the progress thread runs, to move calls whose callers compute.  Waking a thread
// takes longer than most calls, and callers soon wait for their calls.  So short calls are left to
// their callers for a while.  As long as calls are made, the thread checks now and then, without a
// lock, whether a call has been in flight since its last check and no caller has moved it.  It
// checks often if that was so lately, and rarely if callers move all their calls.  When no call has
// been made for some time, it sleeps until it is woken.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace stretto::engine {

class ProgressWakeup {
public:
    // A caller leaves a call in flight.  An urgent call is too long to wait for the thread's next
    // look.
    enum class Left { nothing, something, urgent };

    // Callers call these before and after their work.  leave() is called under the queue's lock;
    // true if the thread is to be woken when the lock is free.
    void come() { callers_.fetch_add(kVisitIncrement + 1, std::memory_order_seq_cst); }
    bool leave(Left left) {
        leave_behind(left);
        callers_.fetch_sub(1, std::memory_order_seq_cst);
        return left == Left::urgent ||
               (left == Left::something && !looking_.load(std::memory_order_seq_cst));
    }
    // Of a caller in the queue: whether others are there, or want to be.
    bool crowded() const { return present() > 1; }
    void wake();
    void stop();

    // The thread's side: whether callers are in the queue, or want to be.
    bool callers() const { return present() != 0; }
    bool stopped() const { return stopped_.load(std::memory_order_seq_cst); }
    void leave_behind(Left left) {
        if (const bool any = left != Left::nothing;
            in_flight_.load(std::memory_order_relaxed) != any)
            in_flight_.store(any, std::memory_order_seq_cst);
    }
    // Waits until there may be work for the thread, or until it has to stop.
    void wait();

private:
    static constexpr std::uint64_t kVisitIncrement = 1 << 16;

    std::uint64_t present() const {
        return callers_.load(std::memory_order_seq_cst) % kVisitIncrement;
    }

    std::atomic<std::uint64_t> callers_{
        0}; // callers in the queue, plus kVisitIncrement times all that ever came
    std::atomic<bool> in_flight_{false}, stopped_{false};
    std::atomic<bool> looking_{false}; // the thread looks by itself
    std::mutex mutex_;
    std::condition_variable awake_;
    bool woken_ = false;
    std::chrono::microseconds pause_{100}; // to the next look
};

} // namespace stretto::engine
