// SPDX-License-Identifier: BSD-3-Clause
// What becomes of the calls in flight when the communicator has failed.
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "engine/queue.hpp"

namespace stretto::engine {

// Called in an exception handler: the communicator has failed, and so have all calls in flight.
void Queue::fail_all() {
    end_all(post_exception(segment_, rank_, exhausted_));
}

// No executor touches the memory of abandoned calls, nor does one of another rank.
void Queue::drain() {
    for (InFlightCall *flight : active_)
        engine_.drain(*flight->run);
    engine_.await_peers();
}

// What waits for a call in an order of the program's, such as its stream, goes on as soon as no
// copy and no kernel touches the memory of the call, of any rank.  On the device a copy may be
// behind another stream that waits, or this one if they share a hardware queue: if nothing ends for
// so long, all go on, or none would.
void Queue::end_gates() {
    std::uint64_t moved_ns = now_ns();
    for (bool left = true, stuck = false; left;) {
        const std::size_t issued = engine_.issued();
        bool moved = false;
        left = false;
        for (InFlightCall *flight : active_) {
            if (flight->gate == nullptr)
                continue;
            if (stuck || (engine_.drained(*flight->run) && engine_.left_alone())) {
                std::exchange(flight->gate, nullptr)->ended();
                moved = true;
            } else {
                left = true;
            }
        }
        if (moved || engine_.issued() != issued)
            moved_ns = now_ns();
        stuck = now_ns() - moved_ns > kStuckNs;
        if (left && !moved)
            std::this_thread::sleep_for(kDeviceNap);
    }
}

void Queue::end_all(const Error &error) {
    end_gates();
    drain();
    for (InFlightCall *flight : active_) {
        flight->error = error;
        flight->complete = true;
        ended(*flight);
    }
    active_.clear();
}

} // namespace stretto::engine
