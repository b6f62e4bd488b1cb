// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/tcp_transport.hpp"

#include <utility>

#include "base/lazy.hpp"
#include "base/status.hpp"
#include "bootstrap/network/tcp_address.hpp"
#include "bootstrap/network/weaver.hpp"
#include "net/sockets.hpp"
#include "transport/remote/tcp_links.hpp"

namespace stretto::bootstrap {

namespace {

// The connections for data of a group.
class TcpConnecting final : public Weaver {
public:
    using Weaver::Weaver;

    std::unique_ptr<transport::Links> links(transport::EventSet &events,
                                            transport::Segment &) override {
        return std::make_unique<transport::TcpLinks>(events, take());
    }
};

} // namespace

TcpTransport::TcpTransport(const transport::Opening &opening)
    : rank_(opening.rank), key_(opening.key), network_(opening.network),
      socket_(net::listen_within(net::port_range(network_.ports),
                                 static_cast<unsigned>(opening.rank), opening.meeting_port)) {}

// Where this rank listens; by what address others reach its host shows later.
std::vector<std::byte> TcpTransport::address() const {
    return tcp_bytes(net::local_address(socket_.get()).port());
}

void TcpTransport::meet(std::vector<std::vector<std::byte>> addresses, int lanes) {
    std::vector<net::Address> all;
    for (const std::vector<std::byte> &bytes : addresses) {
        const auto address = tcp_address(bytes);
        if (!address)
            throw Error(Status::mismatch, "rank " + std::to_string(all.size()) +
                                              " has no address for TCP that makes sense; install "
                                              "one version of Stretto everywhere");
        all.push_back(*address);
    }
    acceptor_ = std::make_shared<ConnectionAcceptor>(key_, rank_, std::move(all),
                                                     std::move(socket_), network_, lanes);
}

std::unique_ptr<transport::Connecting> TcpTransport::connect(const transport::Group &group) {
    std::vector<Line> lines;
    for (int channel = 0; channel < acceptor_->channels(); ++channel)
        lines.push_back({net::ConnectionKind::data, static_cast<std::uint16_t>(channel)});
    return std::make_unique<TcpConnecting>(acceptor_, group, std::move(lines),
                                           net::ConnectionLimits{});
}

bool TcpFactory::is_address(std::span<const std::byte> bytes) const {
    return tcp_address(bytes).has_value();
}

void TcpFactory::complete(std::vector<std::byte> &address, const transport::Way &way) const {
    if (const std::uint16_t port = tcp_port_alone(address); port != 0)
        address = tcp_bytes(way.own.with_port(port));
}

// A name of rank 0's host may stand for a loopback address there (127.0.1.1 in Debian's
// /etc/hosts), by which no other host reaches it.  Its address is then the one by which this host
// has reached it.
void TcpFactory::adapt(std::vector<std::byte> &address, const transport::Way &way) const {
    if (const auto there = tcp_address(address); there && there->is_loopback())
        address = tcp_bytes(way.rank_0.with_port(there->port()));
}

static constinit Lazy<TcpFactory> tcp;

const TcpFactory &tcp_factory() {
    return tcp.get([] { return TcpFactory(); });
}

} // namespace stretto::bootstrap
