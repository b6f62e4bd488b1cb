// SPDX-License-Identifier: BSD-3-Clause
// When the progress thread comes to move calls whose callers do something else.
//
// To wake a thread takes longer than most calls, which their callers soon wait for.  So short calls
// are left to their callers for a while: as long as calls are made the thread looks now and then by
// itself, without a lock, whether one has been in flight since its last look and nobody has come to
// move it: often if that has been so lately, seldom if callers do it all.  When no call has been
// made for some time it sleeps until it is woken.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace stretto::engine {

class ProgressWakeup {
public:
    // What a caller leaves in flight; an urgent call is too long to wait for the thread's look.
    enum class Left { nothing, something, urgent };

    // Callers, around what they do.  The latter is said under the queue's lock, and true if the
    // thread is to be woken when the lock is free.
    void come() { callers_.fetch_add(kVisitIncrement + 1, std::memory_order_seq_cst); }
    bool leave(Left left) {
        leave_behind(left);
        callers_.fetch_sub(1, std::memory_order_seq_cst);
        return left == Left::urgent ||
               (left == Left::something && !looking_.load(std::memory_order_seq_cst));
    }
    void wake();
    void stop();

    // The thread's side: whether callers are there, or want to be.
    bool callers() const { return callers_.load(std::memory_order_seq_cst) % kVisitIncrement != 0; }
    bool stopped() const { return stopped_.load(std::memory_order_seq_cst); }
    void leave_behind(Left left) {
        if (const bool any = left != Left::nothing;
            in_flight_.load(std::memory_order_relaxed) != any)
            in_flight_.store(any, std::memory_order_seq_cst);
    }
    // Until there may be something for the thread to do, or it is to stop.
    void wait();

private:
    static constexpr std::uint64_t kVisitIncrement = 1 << 16;

    std::atomic<std::uint64_t> callers_{
        0}; // that are there, and kVisitIncrement times all that have come
    std::atomic<bool> in_flight_{false}, stopped_{false};
    std::atomic<bool> looking_{false}; // the thread looks by itself
    std::mutex mutex_;
    std::condition_variable awake_;
    bool woken_ = false;
    std::chrono::microseconds pause_{100}; // to the next look
};

} // namespace stretto::engine
