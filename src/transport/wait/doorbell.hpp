// SPDX-License-Identifier: BSD-3-Clause
// How a rank sleeps until another rank has data for it.  The race between "look, then sleep" and
// "publish, then look for sleepers" needs a store-load fence on both sides.  Publishing must cost
// nothing, so the sleeper pays for both: it issues the kernel's asymmetric barrier (membarrier),
// which acts as a fence on every core that runs a rank.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/shm/segment.hpp"

namespace stretto::transport {

// Several threads of a rank may sleep at once.  Each waits for a different value of the rank's
// word, which counts the sleepers, and the rings that found one.
class Doorbell {
public:
    Doorbell(Segment &segment, int rank) : segment_(segment), rank_(rank) {}

    // Whether the sleeper is woken by the progress of other ranks as well, which each reports in
    // every call, or only by what is meant for it.
    enum class Until : std::uint8_t { published, progress };

    // Between announce() and sleep() the caller checks once more for the event that it waits for.
    // It calls sleep() if there is none, and withdraw() in any case.
    void announce(Until until);
    void sleep(std::uint64_t timeout_ns); // or until the bell rings
    void withdraw();

    // Wakes the sleeping threads of `rank` if there are more than `known`.  If the rank is on
    // another host, it is sent what has changed.
    void ring(std::uint32_t known = 0);

private:
    Segment &segment_;
    int rank_;
    std::uint32_t ticket_ = 0; // the word as announce() left it
    bool watches_ = false;
};

// Between what a rank has written and its look for sleepers.
inline void order_before_look(const Signals &signals) {
    if (signals.fences.load(std::memory_order_relaxed) != 0) [[unlikely]]
        std::atomic_thread_fence(std::memory_order_seq_cst);
    else
        std::atomic_signal_fence(std::memory_order_seq_cst);
}

// True if a rank sleeps; called after publishing.  It costs one cached load if none does.
inline bool anybody_sleeps(const Signals &signals) {
    order_before_look(signals);
    return signals.sleepers.load(std::memory_order_relaxed) != 0;
}

// True if a rank of this host sleeps until others report progress; called after reporting it.
inline bool anybody_watches(const Signals &signals) {
    order_before_look(signals);
    return signals.watchers.load(std::memory_order_acquire) != 0;
}

// Announces this process to the asymmetric barrier; false if the kernel has none.
bool register_for_barrier();

} // namespace stretto::transport
