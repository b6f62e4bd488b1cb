// SPDX-License-Identifier: BSD-3-Clause
// Connections that have been idle between two calls, when the next one comes.
//
// TCP forgets what a connection has carried when nothing was sent for a retransmission timeout,
// 200 ms at least (RFC 5681, section 4.1), and then begins with ten packets.  A rank that computes
// for so long would pay for that in each call, and most of all the rank that comes last, for whose
// vector all others wait.  So shortly before this rank comes, by its habit, its agent sends some
// bytes to the ranks to which the call will send, as far as that is known by then.  Nobody needs
// the bytes; the window that they open lasts.
//
// Source: Proficz 2018, section 3.1: the thread that exchanges estimates warms up the connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "arrival/arrival_state.hpp"
#include "arrival/decision_service.hpp"
#include "arrival/tcp_prewarm.hpp"
#include "engine/plan.hpp"

namespace stretto::arrival {

class Prewarm {
public:
    // The service outlives this, and what it does outlives neither.
    Prewarm(DecisionService &service, std::shared_ptr<TcpPrewarm> connections)
        : service_(service), connections_(std::move(connections)) {}

    // This rank has come to a call.
    void end() const { connections_->end(); }
    // It has left the call to which it came then, and which this plan runs: so will the next one of
    // its kind, as far as is known.
    void expect_next(ArrivalState &state, std::uint64_t came, const engine::Plan &plan,
                     std::size_t vector_bytes) const;
    // For the thread in the background: another plan is known to run the next call.
    std::function<void(const engine::Plan &)> turn_to() const;

private:
    DecisionService &service_;
    const std::shared_ptr<TcpPrewarm> connections_;
};

} // namespace stretto::arrival
