// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/remote_carrier.hpp"

#include <utility>

#include "transport/remote/delay.hpp"

namespace stretto::bootstrap {

std::unique_ptr<transport::LinkedPeers> remote_carrier(const Config &config,
                                                       transport::Segment &segment, int rank,
                                                       transport::Connecting &made) {
    auto events = std::make_unique<transport::EventSet>();
    std::unique_ptr<transport::Links> links = made.links(*events, segment);
    if (const std::uint64_t delay = config.network.delay_ns; delay != 0)
        links = std::make_unique<transport::Delay>(*events, std::move(links), delay);
    return std::make_unique<transport::LinkedPeers>(
        segment, rank, std::move(events), std::move(links),
        transport::LinkedPeersOptions{.heartbeat_ns = config.failures.heartbeat_ns});
}

} // namespace stretto::bootstrap
