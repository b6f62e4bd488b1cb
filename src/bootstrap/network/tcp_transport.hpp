// SPDX-License-Identifier: BSD-3-Clause
// The transport over TCP.  Its connections for data come by the acceptor, as those for control do:
// so a rank has it open whatever the data goes by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "bootstrap/network/connection_acceptor.hpp"
#include "transport/remote/factory.hpp"

namespace stretto::bootstrap {

class TcpTransport final : public transport::RemoteTransport {
public:
    // Listens.  Throws Error if there is no port.
    explicit TcpTransport(const transport::Opening &opening);

    std::vector<std::byte> address() const override;
    void meet(std::vector<std::vector<std::byte>> addresses, int lanes) override;
    std::unique_ptr<transport::Connecting> connect(const transport::Group &group) override;
    // After meet().
    const std::shared_ptr<ConnectionAcceptor> &acceptor() const { return acceptor_; }

private:
    const int rank_;
    const net::Key key_;
    const Config::Network network_;
    Descriptor socket_; // until there is a acceptor
    std::shared_ptr<ConnectionAcceptor> acceptor_;
};

// A rank knows its port; its node leader puts in the host's address.
class TcpFactory final : public transport::TransportFactory {
public:
    std::string_view name() const override { return "tcp"; }
    std::uint16_t version() const override { return 1; }
    std::string missing(const transport::Opening &) const override { return ""; }
    std::unique_ptr<transport::RemoteTransport>
    open(const transport::Opening &opening) const override {
        return std::make_unique<TcpTransport>(opening);
    }
    bool is_address(std::span<const std::byte> bytes) const override;
    void complete(std::vector<std::byte> &address, const transport::Way &way) const override;
    void adapt(std::vector<std::byte> &address, const transport::Way &way) const override;
};
const TcpFactory &tcp_factory();

} // namespace stretto::bootstrap
