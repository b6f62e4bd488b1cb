// SPDX-License-Identifier: BSD-3-Clause
// Waiting: one ladder for everything that waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/segment.hpp"

namespace stretto::transport {

// What somebody waits for.
class Waitable {
public:
    virtual ~Waitable() = default;
    // Gets done what can be done now; true if that was anything, which ends the wait.
    virtual bool attempt() = 0;
    // Nothing has happened for `waited_ns`: why does nobody come?  Throws if there is a reason, and
    // has ended the communicator by then.
    virtual void diagnose(std::uint64_t waited_ns) = 0;
    // How long a sleep may last, in nanoseconds, where something ends of which nobody rings.
    virtual std::uint64_t longest_nap() const { return ~std::uint64_t{0}; }
};

inline constexpr std::uint64_t kSuspiciousNs = 2'000'000; // ns after which a wait is looked into

// How long a waiter stays awake.
struct WaitPolicy {
    std::uint64_t spin_ns = 0;  // with the core to itself
    int yields = 0;             // then it gives way to whoever wants the core, so often
    std::uint64_t looks_ns = 0; // or so long between hosts, where each look is a system call
};

// Of callers, who have nothing else to do.  To be woken takes longer than to be passed over in the
// queue for the core, above all where more ranks than cores wait for each other in turn.  Between
// hosts that is worth less: what moves many bytes needs the core for moving them, and whoever has
// waited for longer than a short call takes, for one that needs its core.
inline constexpr WaitPolicy caller(std::uint64_t spin_ns, std::size_t bytes = 0) {
    constexpr std::size_t kShortBytes = std::size_t{64} << 10, kLongBytes = std::size_t{1} << 20;
    return {spin_ns, 1000, bytes <= kShortBytes ? 200'000u : bytes <= kLongBytes ? 20'000u : 0u};
}
// Of threads beside their callers, whose core is wanted for the program's own work.
inline constexpr WaitPolicy kHelper = {0, 64, 0};

// Stays awake as `policy` says, then sleeps until `rank` is rung; looks for what is wrong every now
// and then, and takes turns of this thread's idle_callback (idle.hpp).  Throws the communicator's
// failure if it has failed.
void wait(Segment &segment, int rank, Waitable &waitable, WaitPolicy policy);

} // namespace stretto::transport
