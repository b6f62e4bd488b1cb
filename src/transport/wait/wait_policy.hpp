// SPDX-License-Identifier: BSD-3-Clause
// Waiting: spin, then yield, then sleep, for everything that waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/shm/segment.hpp"

namespace stretto::transport {

inline constexpr std::uint64_t kNoNap = ~std::uint64_t{0}; // sleeps may take any time

// The condition that a thread waits for.
class Waitable {
public:
    virtual ~Waitable() = default;
    // Does the work that is possible now; true if there was any, which ends the wait.
    virtual bool attempt() = 0;
    // Nothing has happened for `waited_ns`: looks for the cause.  If there is one, it fails the
    // communicator and throws.
    virtual void diagnose(std::uint64_t waited_ns) = 0;
    // The longest sleep in nanoseconds, if the event that ends the wait rings no doorbell.
    virtual std::uint64_t longest_nap() const { return kNoNap; }
    // Whether progress that others report could end the wait, as the last attempt has found.
    virtual bool awaits_progress() const { return true; }
};

inline constexpr std::uint64_t kSuspiciousNs = 2'000'000; // after this long a wait is investigated

// How long a waiter stays awake.
struct WaitPolicy {
    std::uint64_t spin_ns = 0; // with the core to itself
    int yields = 0;            // then it yields the core this many times
    // Or for this long between hosts, where each look is a system call; for less where ranks share
    // a core.
    std::uint64_t looks_ns = 0;
    // Or, between hosts where ranks share a core: whether it takes the core from the thread that
    // runs there when it is woken.
    bool preempts = true;
};

// The policy of callers, which have nothing else to do.  Waking a thread takes longer than letting
// it yield, above all if more ranks than cores wait for each other in turn.  Between hosts yielding
// gains less: a long call needs the core to move its bytes, and a wait that is longer than a short
// call is probably for a rank that needs this core.  A long call sleeps many times.  If each packet
// that arrives took the core from a rank that works, a call of 512 KiB by 4 x 4 ranks on two cores
// would take a third longer.
inline constexpr WaitPolicy caller(std::uint64_t spin_ns, std::size_t bytes = 0) {
    constexpr std::size_t kShortBytes = std::size_t{64} << 10, kLongBytes = std::size_t{1} << 20;
    return {spin_ns, 1000,
            bytes <= kShortBytes  ? 200'000u
            : bytes <= kLongBytes ? 20'000u
                                  : 0u,
            bytes <= kShortBytes};
}
// The policy of helper threads, whose core the program needs for its own work.
inline constexpr WaitPolicy kHelper = {0, 64, 0};

// Stays awake as `policy` says, then sleeps until the doorbell of `rank` rings.  Now and then it
// looks for failures and calls this thread's idle callback (idle.hpp).  Throws the communicator's
// failure if it has failed.
void wait(Segment &segment, int rank, Waitable &waitable, WaitPolicy policy);

} // namespace stretto::transport
