// SPDX-License-Identifier: BSD-3-Clause
#include "base/call_scope.hpp"

#include "base/clock.hpp"

namespace stretto {

std::atomic<bool> scopes_in_use{false};

CallScope &call_scope() {
    static thread_local CallScope own;
    return own;
}

Interrupt &interrupt() {
    static thread_local Interrupt own;
    return own;
}

std::string CallScope::exceeded() const {
    return "has not ended within " + in_seconds(limit_ns) +
           ", the limit of this call (by timeout in Python, stretto_set_timeout, stretto_wait_for)";
}

void interruption_point() {
    constexpr std::uint64_t kEveryNs = 50'000'000;
    if (!scopes_in_use.load(std::memory_order_relaxed))
        return;
    Interrupt &own = interrupt();
    if (own.function == nullptr)
        return;
    const std::uint64_t now = now_ns();
    if (now - own.asked < kEveryNs)
        return;
    own.asked = now;
    const CallScope waiting = call_scope(); // the function may call Stretto
    const bool go_on = own.function(own.context) == 0;
    call_scope() = waiting;
    if (go_on)
        return;
    const int rank = waiting.rank;
    throw Interruption((rank < 0 ? std::string("this rank") : "rank " + std::to_string(rank)) +
                       " was interrupted (by Ctrl-C, or a signal's handler that raised)");
}

} // namespace stretto
