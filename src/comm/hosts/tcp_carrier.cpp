// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/tcp_carrier.hpp"

#include <utility>

#include "base/settings.hpp"
#include "transport/delay.hpp"
#include "transport/tcp/tcp_links.hpp"

namespace stretto::comm {

std::unique_ptr<transport::Carrier> tcp_carrier(transport::Segment &segment, int rank,
                                                std::vector<Connections> connections) {
    auto events = std::make_unique<transport::EventSet>();
    std::unique_ptr<transport::Links> links =
        std::make_unique<transport::TcpLinks>(*events, std::move(connections));
    if (const std::uint64_t delay = nanoseconds(Setting::delay); delay != 0)
        links = std::make_unique<transport::Delay>(*events, std::move(links), delay);
    return std::make_unique<transport::Carrier>(segment, rank, std::move(events), std::move(links));
}

} // namespace stretto::comm
