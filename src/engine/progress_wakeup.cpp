// SPDX-License-Identifier: BSD-3-Clause
#include "engine/progress_wakeup.hpp"

#include <algorithm>

namespace stretto::engine {

using std::chrono::microseconds;

void ProgressWakeup::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    awake_.notify_one();
}

void ProgressWakeup::stop() {
    stopped_.store(true, std::memory_order_seq_cst);
    wake();
}

void ProgressWakeup::wait() {
    // A look takes the core for some microseconds.  If ranks share cores, it delays a rank that
    // others may wait for.
    constexpr auto kShortestUs = microseconds(100), kLongestUs = microseconds(1600);
    constexpr int kQuietLooks = 4; // looks without a caller before the thread sleeps
    std::unique_lock lock(mutex_);
    looking_.store(true, std::memory_order_seq_cst);
    const auto woken = [this] { return woken_; };
    std::uint64_t before = callers_.load(std::memory_order_seq_cst);
    for (int quiet = 0; quiet < kQuietLooks;) {
        if (awake_.wait_for(lock, pause_, woken)) {
            woken_ = false;
            return;
        }
        const std::uint64_t now = callers_.load(std::memory_order_seq_cst);
        const bool nobody_came = now == before && now % kVisitIncrement == 0;
        if (nobody_came && in_flight_.load(std::memory_order_seq_cst)) {
            pause_ = kShortestUs;
            return;
        }
        quiet = nobody_came ? quiet + 1 : 0;
        before = now;
        pause_ = std::min(2 * pause_, kLongestUs);
    }
    looking_.store(false, std::memory_order_seq_cst);
    // A caller that left a call in flight meanwhile may not have seen the change.
    if (!in_flight_.load(std::memory_order_seq_cst))
        awake_.wait(lock, woken);
    woken_ = false;
}

} // namespace stretto::engine
