// SPDX-License-Identifier: BSD-3-Clause
#include "transport/wait/wait_policy.hpp"

#include <algorithm>
#include <optional>
#include <sched.h>
#include <utility>

#include "base/batch_policy.hpp"
#include "base/call_scope.hpp"
#include "base/clock.hpp"
#include "base/cpu_pause.hpp"
#include "transport/remote/remote_peers.hpp"
#include "transport/wait/doorbell.hpp"
#include "transport/wait/idle.hpp"
#include "transport/wait/yield_pacing.hpp"

namespace stretto::transport {

namespace {

constexpr std::uint64_t kNapNs = 20'000'000; // sleepers check the communicator this often
// The ranks of a core together yield at most this often before they sleep.
constexpr int kMostYields = 8000;
// Between hosts, ranks that share a core look no longer than this: each look of one is a system
// call that delays the others.
constexpr std::uint64_t kSharedCoreLooksNs = 20'000;

thread_local YieldPacing yield_pacing;

} // namespace

void wait(Segment &segment, int rank, Waitable &waitable, WaitPolicy policy) {
    const std::uint64_t start = now_ns();
    const auto waited = [&] { return now_ns() - start; };
    IdleTurns idling(start);
    const auto attempt = [&, remote_peers = segment.remote_peers()] {
        if (remote_peers != nullptr)
            (void)remote_peers->make_progress(RemotePeers::Caller::awake);
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
    const bool has_remote_peers = segment.remote_peers() != nullptr;
    const auto ranks_per_core = segment.ranks_per_core();
    const int yields = std::min(policy.yields, kMostYields / static_cast<int>(ranks_per_core));
    const std::uint64_t looks_ns =
        ranks_per_core > 1 ? std::min(policy.looks_ns, kSharedCoreLooksNs) : policy.looks_ns;
    // Where it has the core to itself, a long yield has served another program.
    const bool alone = ranks_per_core <= 1;
    std::uint64_t now = now_ns();
    bool yielding = !alone || yield_pacing.worthwhile(now);
    for (int i = 0; yielding && (has_remote_peers ? now - start < looks_ns : i < yields); ++i) {
        sched_yield();
        const std::uint64_t before = std::exchange(now, now_ns());
        yielding = !alone || yield_pacing.record(before, now);
        if (attempt())
            return;
        if (idling.wanted())
            idling.turn(now_ns());
    }
    // 3. Sleep until the doorbell rings.
    const bool gives_way = !policy.preempts && has_remote_peers && ranks_per_core > 1;
    const std::uint64_t suspicious =
        has_remote_peers ? segment.remote_peers()->suspicious_ns() : kSuspiciousNs;
    for (std::uint64_t looked = 0;;) {
        const std::uint64_t rest = std::max(suspicious, segment.look_pacing().rest_ns());
        Doorbell bell(segment, rank);
        const bool watches = waitable.awaits_progress();
        bell.announce(watches ? Doorbell::Until::progress : Doorbell::Until::published);
        const bool success = waitable.attempt();
        const bool unannounced = !watches && waitable.awaits_progress();
        if (!success && !unannounced && !segment.failed()) {
            std::optional<BatchPolicy> batch;
            if (gives_way)
                batch.emplace();
            bell.sleep(std::min(idling.at_most(looked == 0 ? rest : std::max(rest, kNapNs)),
                                waitable.longest_nap())); // it carries
        }
        bell.withdraw();
        if (success || waitable.attempt())
            return;
        if (segment.failed())
            throw segment.failure();
        interruption_point();
        if (idling.wanted())
            idling.turn(now_ns());
        if (waited() - looked >= rest) {
            looked = waited();
            const std::uint64_t before = thread_processor_ns();
            waitable.diagnose(looked);
            segment.look_pacing().record(thread_processor_ns() - before, segment.ranks_per_core());
        }
    }
}

} // namespace stretto::transport
