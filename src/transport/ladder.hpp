// SPDX-License-Identifier: BSD-3-Clause
// Waiting: one ladder for everything that waits.
#pragma once

#include <cstdint>

#include "transport/segment.hpp"

namespace stretto::transport {

// What somebody waits for.
class Awaited {
public:
    virtual ~Awaited() = default;
    // Gets done what can be done now; true if that was anything, which ends the wait.
    virtual bool attempt() = 0;
    // Nothing has happened for `waited_ns`: why does nobody come?  Throws if there is a reason, and
    // has ended the communicator by then.
    virtual void diagnose(std::uint64_t waited_ns) = 0;
};

inline constexpr std::uint64_t kSuspicious = 2'000'000; // ns after which a wait is looked into

// Spins for `spin_ns`, then yields, then sleeps until `rank` is rung; looks for what is wrong every
// now and then, and takes turns of this thread's pastime (idling.hpp).  Throws the communicator's
// failure if it has failed.
void wait(Segment &segment, int rank, Awaited &awaited, std::uint64_t spin_ns);

} // namespace stretto::transport
