// SPDX-License-Identifier: BSD-3-Clause
// How a rank sleeps until another has something for it.
//
// The race between "I look, then sleep" and "I publish, then look for sleepers" needs a store-load
// fence on both sides.  Publishing must cost nothing, so the sleeper pays for both: it issues the
// kernel's asymmetric barrier (membarrier), which acts as a fence on every core that runs a rank.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/segment.hpp"

namespace stretto::transport {

class Doorbell {
public:
    Doorbell(Segment &segment, int rank) : segment_(segment), rank_(rank) {}

    // What a rank sleeps for: cells of others, or also room in its own stream.
    enum Reason : std::uint32_t { cells = 1, room = 2 };

    // Between announce() and sleep() the caller looks once more for what it waits for; it calls
    // sleep() if there is nothing, and always withdraw().
    void announce(Reason reason);
    void sleep(Reason reason, std::uint64_t timeout_ns); // or until rung
    void withdraw();

    // Wakes the rank if it sleeps for at least this.
    void ring(Reason reason = cells);

private:
    Segment &segment_;
    int rank_;
};

// True if anybody sleeps; to be asked after publishing.  One cached load when nobody does.
inline bool anybody_sleeps(const Signals &signals) {
    if (signals.fences.load(std::memory_order_relaxed) != 0) [[unlikely]]
        std::atomic_thread_fence(std::memory_order_seq_cst);
    else
        std::atomic_signal_fence(std::memory_order_seq_cst);
    return signals.sleepers.load(std::memory_order_relaxed) != 0;
}

// Announces this process to the asymmetric barrier; false if the kernel has none.
bool register_for_barrier();

} // namespace stretto::transport
