// SPDX-License-Identifier: BSD-3-Clause
#include "transport/wait/idle.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace stretto::transport {

IdleCallback &idle_callback() {
    static thread_local IdleCallback own;
    return own;
}

void IdleTurns::take_turn(std::uint64_t now) {
    // A call of the function that finds nothing takes a tenth of a microsecond, or a few
    // microseconds with a system call.
    constexpr std::uint64_t kLeastNs = 4'000;
    static thread_local std::uint64_t shortest = kSeldomNs;
    callback_.function(callback_.context);
    const std::uint64_t after = now_ns(), took = after - now;
    shortest = std::min(shortest, took);
    const bool got_something_done = took >= kLeastNs && took >= 4 * shortest;
    pause_ = got_something_done ? kAgainNs : std::min(2 * pause_, kSeldomNs);
    next_ = after + pause_;
}

} // namespace stretto::transport
