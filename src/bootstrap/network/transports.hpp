// SPDX-License-Identifier: BSD-3-Clause
// Which transports there are, which of them a rank can use, and which one a job uses.
//
// The choice follows from the table of endpoint addresses, which all ranks have, and from nothing
// else.  STRETTO_TRANSPORT only says what a rank can use.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/local/wire.hpp"
#include "bootstrap/network/tcp_transport.hpp"
#include "transport/remote/endpoint.hpp"
#include "transport/remote/factory.hpp"

namespace stretto::bootstrap {

// Before TCP in the order of preference, for good; before any job begins.
void add_transport(const transport::TransportFactory &factory);
// All, the preferred first.
std::vector<const transport::TransportFactory *> transports();
// Null if there is none.
const transport::TransportFactory *transport_named(std::string_view name);
// Throws Error(argument) unless STRETTO_TRANSPORT, which is `wanted`, is auto or names a transport.
void check_transport(const std::string &wanted);

// Of one rank.
struct OpenTransports {
    std::shared_ptr<TcpTransport> tcp; // always: control goes by it
    std::vector<std::shared_ptr<transport::RemoteTransport>> others;
    transport::Endpoints endpoints; // of `others`, in their order, and of TCP last
    std::vector<Lack> lacks;

    std::shared_ptr<transport::RemoteTransport> named(std::string_view name) const;
};
// Opens what this rank can use, after check() of its config.  Throws Error if it cannot even listen
// for TCP.
OpenTransports open_transports(const transport::Opening &opening);

// The first transport of rank 0's list by which every rank takes data, in the same version; "" if
// there is none.  A function of the table.
std::string agreed_transport(std::span<const transport::Endpoints> of_ranks);
// Why there is none.  Both lists are by rank; `who` names a rank: "rank 2 on 10.0.0.2".
std::string no_common_transport(std::span<const transport::Endpoints> of_ranks,
                                std::span<const std::vector<Lack>> lacks,
                                std::span<const std::string> who);

} // namespace stretto::bootstrap
