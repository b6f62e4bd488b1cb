// SPDX-License-Identifier: BSD-3-Clause
// Connections that have been idle between two calls, when the next one comes.
//
// TCP forgets what a connection has carried when nothing was sent for a retransmission timeout,
// 200 ms at least (RFC 5681, section 4.1), and then begins with ten packets.  Who computes for so
// long would pay for that in each call, and most of all the rank that comes last, for whose vector
// all others wait.  So shortly before this rank comes, by its habit, its agent sends some bytes to
// those to whom the call will send, as far as that is known by then: nobody needs them, and the
// window that they open lasts.
//
// Source: Proficz 2018, section 3.1: the thread that exchanges estimates warms up the connections.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "comm/hosts/failure_detector.hpp"

namespace stretto::comm {

// Nanoseconds after which a connection counts as idle, and before the rank comes: less, so that it
// is not idle again when the rank comes a little late.
static constexpr std::uint64_t kIdleNs = 180'000'000, kWarmAheadNs = 80'000'000;
// Of the vector, what goes to all together is such a part.
static constexpr std::size_t kVectorDivisor = 16;

void Communicator::warm_for_next(const Request &request, ArrivalState &watched,
                                 std::uint64_t came) {
    const std::uint64_t before = std::exchange(watched.came, came), now = now_ns();
    const std::uint64_t next = came + (came - before); // by its habit
    if (before == 0 || next < now + kIdleNs)
        return;
    const std::size_t vector = vector_count(request) * size_of(request.dtype);
    joined_.registration->warming()->begin(next - kWarmAheadNs, site(request).plan->readers,
                                           vector / kVectorDivisor);
    joined_.reach.watch->come_round(next - kWarmAheadNs);
}

// What it is known to serve the next call, by the agent's thread.
std::function<void(const engine::Plan &)> Communicator::warm_for() const {
    FailureDetector &watch = *joined_.reach.watch; // which outlives what it does
    return [&watch, warming = joined_.registration->warming()](const engine::Plan &plan) {
        const auto time = warming->turn_to(plan.readers);
        if (const std::uint64_t now = now_ns(); time && *time <= now)
            watch.come_round(now);
    };
}

} // namespace stretto::comm
