// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/tcp_carrier.hpp"

#include <utility>

#include "base/settings.hpp"
#include "transport/delay.hpp"
#include "transport/tcp/tcp_links.hpp"

namespace stretto::comm {

std::unique_ptr<transport::Carrier> tcp_carrier(transport::Segment &segment, int rank,
                                                std::vector<Connections> connections) {
    auto poll = std::make_unique<transport::Poll>();
    std::unique_ptr<transport::Links> links =
        std::make_unique<transport::TcpLinks>(*poll, std::move(connections));
    if (const std::uint64_t delay = nanoseconds(Setting::delay); delay != 0)
        links = std::make_unique<transport::Delay>(*poll, std::move(links), delay);
    return std::make_unique<transport::Carrier>(segment, rank, std::move(poll), std::move(links));
}

} // namespace stretto::comm
