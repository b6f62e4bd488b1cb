// SPDX-License-Identifier: BSD-3-Clause
// How often a rank that waits looks for what is wrong.
//
// A look asks after every rank, and every rank that waits looks.  With P ranks on few cores the
// looks alone could take all processor time from the rank that the others wait for.  So a rank
// rests after a look for a multiple of the processor time that the look took: all ranks of a core
// together spend a sixteenth of its time in looks at most, unless a rest would be too long.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace stretto::transport {

class LookPacing {
public:
    static constexpr std::uint64_t kMostRestNs = 250'000'000;

    // From look to look, in nanoseconds; 0 before the first.
    std::uint64_t rest_ns() const { return rest_ns_.load(std::memory_order_relaxed); }
    // A look took so much processor time.  Any thread.
    void record(std::uint64_t processor_ns, unsigned ranks_per_core) {
        constexpr std::uint64_t kShare = 16;
        rest_ns_.store(std::min(kMostRestNs, kShare * ranks_per_core * processor_ns),
                       std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> rest_ns_{0};
};

} // namespace stretto::transport
