// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/local_route.hpp"

#include "base/status.hpp"
#include "net/sockets.hpp"

namespace stretto::bootstrap {

std::string from_here(const net::Address &peer, const net::InterfaceFilter &filter) {
    try {
        const net::LocalAddress here = net::local_toward(peer, net::Place::anywhere, filter);
        return " (from " + here.address.host() +
               (here.interface.empty() ? "" : " on " + here.interface) + " of " + net::host_name() +
               ")";
    } catch (const Error &) { // there is no way to it, which the error itself says
        return " (from " + net::host_name() + ")";
    }
}

} // namespace stretto::bootstrap
