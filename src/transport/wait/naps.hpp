// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a word that another process writes, where no doorbell rings for it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <sched.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "transport/wait/yield_pacing.hpp"

namespace stretto::transport {

// What a rank does between two looks: it yields its core a few times, then it sleeps, for an eighth
// of the time that it has waited.  The rank that it waits for has milliseconds of work to do, or is
// not there yet: a rank that yielded for longer would take the core from it again and again.
class Naps {
public:
    void next() {
        constexpr int kYields = 16;
        constexpr std::uint64_t kShortestNs = 20'000, kLongestNs = 2'000'000;
        const std::uint64_t now = now_ns();
        if (yields_ < kYields && pacing_.worthwhile(now)) {
            ++yields_;
            sched_yield();
            (void)pacing_.record(now, now_ns());
            return;
        }
        usleep(static_cast<unsigned>(std::clamp((now - start_ns_) / 8, kShortestNs, kLongestNs) /
                                     1000));
    }

private:
    const std::uint64_t start_ns_ = now_ns();
    YieldPacing pacing_;
    int yields_ = 0;
};

} // namespace stretto::transport
