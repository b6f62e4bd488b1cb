// SPDX-License-Identifier: BSD-3-Clause
// When a thread that waits may yield its core, if it has one to itself.
//
// Ranks that share a core yield to one another, and a turn takes microseconds.  A thread of another
// program keeps the core for its whole slice, more than a millisecond, even if its priority is the
// lowest there is.  A thread that sleeps gets the core back when it is woken.  So after a yield
// that took that long, a thread does without them for a while: at most a small part of its time is
// lost in finding out again.  Where ranks share cores a long yield may as well have served a rank
// that computes, so there threads go on yielding.
#pragma once

#include <cstdint>

namespace stretto::transport {

class YieldPacing {
public:
    static constexpr std::uint64_t kLongNs = 500'000; // less than a slice, more than a rank's turn
    static constexpr std::uint64_t kRestFactor = 64;  // as many times as long as the yield

    bool worthwhile(std::uint64_t now_ns) const { return now_ns >= again_ns_; }
    // A yield has taken from `before_ns` to `after_ns`.  True if another may follow.
    bool record(std::uint64_t before_ns, std::uint64_t after_ns) {
        const std::uint64_t took_ns = after_ns - before_ns;
        if (took_ns < kLongNs)
            return true;
        again_ns_ = after_ns + kRestFactor * took_ns;
        return false;
    }

private:
    std::uint64_t again_ns_ = 0;
};

} // namespace stretto::transport
