// SPDX-License-Identifier: BSD-3-Clause
// What a thread does besides while it waits: whoever hosts it has work of its own that nobody else
// does, as an MPI library has whose messages move only in its calls.
#pragma once

#include <cstdint>

namespace stretto::transport {

struct IdleCallback {
    void (*function)(void *context) = nullptr; // null: nothing
    void *context = nullptr;
};

// Of this thread.
IdleCallback &idle_callback();

// The turns of the idle_callback in one wait: the first soon, then ever more seldom, since it has a
// price and there may be nothing to do; soon again after one that took long, which got something
// done.
class IdleTurns {
public:
    explicit IdleTurns(std::uint64_t now)
        : callback_(stretto::transport::idle_callback()), next_(now + kFirstNs) {}

    bool wanted() const { return callback_.function != nullptr; }
    void turn(std::uint64_t now) {
        if (wanted() && now >= next_)
            take_turn(now);
    }
    // How long a sleep may last.
    std::uint64_t at_most(std::uint64_t ns) const { return wanted() && pause_ < ns ? pause_ : ns; }

private:
    // ns.  Most waits are over before the first turn.
    static constexpr std::uint64_t kFirstNs = 50'000, kSeldomNs = 1'000'000, kAgainNs = 5'000;

    void take_turn(std::uint64_t now);

    const IdleCallback callback_;
    std::uint64_t pause_ = kFirstNs, next_;
};

} // namespace stretto::transport
