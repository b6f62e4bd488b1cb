// SPDX-License-Identifier: BSD-3-Clause
// The idle callback: the work of a host library that a thread does while it waits in Stretto, such
// as an MPI library whose messages move only in its calls.
#pragma once

#include <cstdint>

namespace stretto::transport {

struct IdleCallback {
    void (*function)(void *context) = nullptr; // null: nothing
    void *context = nullptr;
};

// The idle callback of this thread.
IdleCallback &idle_callback();

// The turns of the idle callback in one wait.  The first comes soon; then they become ever rarer,
// since a turn has a price and there may be nothing to do.  After a turn that took long, and so did
// some work, the next comes soon again.
class IdleTurns {
public:
    explicit IdleTurns(std::uint64_t now)
        : callback_(stretto::transport::idle_callback()), next_(now + kFirstNs) {}

    bool wanted() const { return callback_.function != nullptr; }
    void turn(std::uint64_t now) {
        if (wanted() && now >= next_)
            take_turn(now);
    }
    // The longest sleep before the next turn.
    std::uint64_t at_most(std::uint64_t ns) const { return wanted() && pause_ < ns ? pause_ : ns; }

private:
    // Most waits are over before the first turn.
    static constexpr std::uint64_t kFirstNs = 50'000, kSeldomNs = 1'000'000, kAgainNs = 5'000;

    void take_turn(std::uint64_t now);

    const IdleCallback callback_;
    std::uint64_t pause_ = kFirstNs, next_;
};

} // namespace stretto::transport
