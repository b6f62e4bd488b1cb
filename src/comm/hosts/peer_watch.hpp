// SPDX-License-Identifier: BSD-3-Clause
// Who looks after the other ranks of a job on several hosts: the control agent of a rank, tied to
// its segment and its carrier.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "comm/hosts/mesh.hpp"
#include "control/agent.hpp"
#include "control/net_links.hpp"
#include "transport/carrier.hpp"
#include "transport/segment.hpp"

namespace stretto::comm {

// A rank that dies or falls silent becomes the failure of the communicator on every host, also for
// ranks that never talk to it, and so does a failure that any rank posts.  While the rank computes,
// the agent's thread takes in what comes for it, so that those who inquire are answered.
class PeerWatch {
public:
    // Both outlive it.
    PeerWatch(int rank, transport::Segment &segment, transport::Carrier &carrier,
              Connections connections);
    // Takes leave of the others, who know by then if the communicator has failed.
    ~PeerWatch();
    PeerWatch(const PeerWatch &) = delete;
    PeerWatch &operator=(const PeerWatch &) = delete;

private:
    void revoked(const control::Reason &reason);
    void round();

    const int rank_;
    const Error exhausted_;
    transport::Segment &segment_;
    transport::Carrier &carrier_;
    control::NetLinks links_;
    std::unique_ptr<control::Agent> agent_; // last: its thread uses all of the above
};

} // namespace stretto::comm
