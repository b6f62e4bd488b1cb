// SPDX-License-Identifier: BSD-3-Clause
// Streams of the program that wait for the end of a call (stream_order.hpp).
//
// If the driver is asked for pinned memory, for a registration, for a stream or for memory of
// another process, it may wait until the device has done all that it was given, and other threads
// then wait for the driver: also the thread that would let the stream go on.  So the driver is
// asked for none of these while a stream waits.
//
// Nor does the host wait for CUDA's legacy default stream while that one may wait for a call.  Rank
// 0 may order a call by that stream and then send a message, and rank 1 receive the message before
// it begins the call: if the send waited for the stream, neither would ever end.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

namespace stretto::device {

class WaitingStreams {
public:
    // A stream is about to wait.  If a thread asks the driver now, this waits until it has done so.
    // `holds_default`: the legacy default stream waits for that stream, or is it.
    void began(bool holds_default) {
        const std::lock_guard lock(mutex_);
        ++waiting_;
        holding_default_.fetch_add(holds_default ? 1 : 0, std::memory_order_release);
    }
    // It goes on.
    void ended(bool holds_default) noexcept {
        const std::lock_guard lock(mutex_);
        --waiting_;
        holding_default_.fetch_sub(holds_default ? 1 : 0, std::memory_order_release);
    }
    // Whether one waits that holds up the legacy default stream, of any context.
    bool hold_default() const { return holding_default_.load(std::memory_order_acquire) != 0; }
    // Whether one waits at the moment.
    bool any() {
        const std::lock_guard lock(mutex_);
        return waiting_ != 0;
    }
    // Asks, unless a stream waits.  No stream begins to wait meanwhile.
    template<class Ask>
    void ask_if_none(Ask &&ask) {
        const std::lock_guard lock(mutex_);
        if (waiting_ == 0)
            std::forward<Ask>(ask)();
    }

private:
    std::mutex mutex_;
    std::size_t waiting_ = 0;
    std::atomic<std::size_t> holding_default_{0}; // of these
};

} // namespace stretto::device
