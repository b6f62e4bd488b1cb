// SPDX-License-Identifier: BSD-3-Clause
// Support for callers that test a call again and again, with other work in between.  Now and then
// the engine does the checks of a wait, as if all tests were one wait.
#include "base/clock.hpp"
#include "engine/engine.hpp"
#include "transport/remote/remote_peers.hpp"
#include "transport/wait/wait_policy.hpp"

namespace stretto::engine {

void Engine::look_into(Run &run) {
    if (segment_->failed())
        interrupt(run);
    const std::uint64_t now = now_ns();
    if (still_.since == 0)
        still_ = {now, now, 0, false, run.call->descriptor};
    const transport::RemotePeers *const remote_peers = segment_->remote_peers();
    if (now - still_.looked <
        (remote_peers != nullptr ? remote_peers->suspicious_ns() : transport::kSuspiciousNs))
        return;
    still_.looked = now;
    still_.stands = true;
    const std::uint64_t waited = now - still_.since;
    publish_wait_state(run);
    if (waited >= still_.asks_at) {
        inquire(run, waited);
        still_.asks_at = 2 * waited;
    }
    diagnose(run, waited);
    consider_stall(run, waited);
}

void Engine::end_stillness() {
    if (still_.stands) {
        mine_.wait_state.store(0, std::memory_order_relaxed);
        stall_watch_.learn(still_.descriptor, now_ns() - still_.since);
    }
    still_ = {};
}

} // namespace stretto::engine
