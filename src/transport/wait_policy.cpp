// SPDX-License-Identifier: BSD-3-Clause
#include "transport/wait_policy.hpp"

#include <algorithm>
#include <sched.h>

#include "base/call_scope.hpp"
#include "base/clock.hpp"
#include "base/cpu_pause.hpp"
#include "transport/bridge.hpp"
#include "transport/doorbell.hpp"
#include "transport/idle.hpp"

namespace stretto::transport {

namespace {

constexpr std::uint64_t kNapNs = 20'000'000; // sleepers check the communicator this often

} // namespace

void wait(Segment &segment, int rank, Waitable &waitable, WaitPolicy policy) {
    const std::uint64_t start = now_ns();
    const auto waited = [&] { return now_ns() - start; };
    IdleTurns idling(start);
    const auto attempt = [&, bridge = segment.bridge()] {
        if (bridge != nullptr)
            (void)bridge->carry(Bridge::Caller::awake);
        return waitable.attempt();
    };
    // 1. Spin, while every rank has a core and the wait is likely to be short.
    for (std::uint64_t now = start; now - start < policy.spin_ns; now = now_ns()) {
        idling.turn(now);
        for (int i = 0; i < 32; ++i) {
            if (attempt())
                return;
            cpu_pause();
        }
    }
    // 2. Yield: another rank may be waiting for this core.
    const bool bridged = segment.bridge() != nullptr;
    for (int i = 0; bridged ? waited() < policy.looks_ns : i < policy.yields; ++i) {
        sched_yield();
        if (attempt())
            return;
        if (idling.wanted())
            idling.turn(now_ns());
    }
    // 3. Sleep until the doorbell rings.
    const std::uint64_t suspicious = bridged ? segment.bridge()->suspicious_ns() : kSuspiciousNs;
    const std::uint64_t first = std::min(suspicious, kNapNs);
    for (std::uint64_t looked = 0;;) {
        Doorbell bell(segment, rank);
        bell.announce();
        const bool success = waitable.attempt();
        if (!success && !segment.failed())
            bell.sleep(std::min(idling.at_most(looked == 0 ? first : kNapNs),
                                waitable.longest_nap())); // it carries
        bell.withdraw();
        if (success || waitable.attempt())
            return;
        if (segment.failed())
            throw segment.failure();
        interruption_point();
        if (idling.wanted())
            idling.turn(now_ns());
        if (waited() - looked >= suspicious) {
            looked = waited();
            waitable.diagnose(looked);
        }
    }
}

} // namespace stretto::transport
