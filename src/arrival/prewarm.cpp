// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/prewarm.hpp"

#include "base/clock.hpp"

namespace stretto::arrival {

// After so long a connection counts as idle, and so long before the rank comes it is warmed: less,
// so that it is not idle again when the rank comes a little late.
static constexpr std::uint64_t kIdleNs = 180'000'000, kWarmAheadNs = 80'000'000;
// Of the vector, what goes to all together is such a part.
static constexpr std::size_t kVectorDivisor = 16;

void Prewarm::expect_next(ArrivalState &state, std::uint64_t came, const engine::Plan &plan,
                          std::size_t vector_bytes) const {
    const std::uint64_t before = std::exchange(state.came, came), now = now_ns();
    const std::uint64_t next = came + (came - before); // by its habit
    if (before == 0 || next < now + kIdleNs)
        return;
    connections_->begin(next - kWarmAheadNs, plan.readers, vector_bytes / kVectorDivisor);
    service_.come_round(next - kWarmAheadNs);
}

std::function<void(const engine::Plan &)> Prewarm::turn_to() const {
    return [&service = service_, connections = connections_](const engine::Plan &plan) {
        const auto time = connections->turn_to(plan.readers);
        if (const std::uint64_t now = now_ns(); time && *time <= now)
            service.come_round(now);
    };
}

} // namespace stretto::arrival
