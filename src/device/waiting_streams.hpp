// SPDX-License-Identifier: BSD-3-Clause
// Streams of the program that wait for the end of a call (stream_order.hpp).
//
// If the driver is asked for pinned memory, for a registration, for a stream or for memory of
// another process, it may wait until the device has done all that it was given, and other threads
// then wait for the driver: also the thread that would let the stream go on.  So the driver is
// asked for none of these while a stream waits.
#pragma once

#include <cstddef>
#include <mutex>
#include <utility>

namespace stretto::device {

class WaitingStreams {
public:
    // A stream is about to wait.  If a thread asks the driver now, this waits until it has done so.
    void began() {
        const std::lock_guard lock(mutex_);
        ++waiting_;
    }
    // It goes on.
    void ended() noexcept {
        const std::lock_guard lock(mutex_);
        --waiting_;
    }
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
};

} // namespace stretto::device
