// SPDX-License-Identifier: BSD-3-Clause
// Finds the address at which a peer reaches this host.
#include <cerrno>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/settings.hpp"
#include "base/status.hpp"
#include "net/interfaces.hpp"
#include "net/sockets.hpp"

namespace stretto::net {

namespace {

std::string variable() {
    return std::string(info(Setting::iface).variable);
}

std::string family_name(const Address &address) {
    return address.family() == AF_INET6 ? "IPv6" : "IPv4";
}

// "" if no interface has it: an address may belong to this host by its routes alone.
std::string interface_of(const Address &address, std::span<const Interface> all) {
    for (const Interface &interface : all)
        for (const Interface::Assigned &assigned : interface.addresses)
            if (assigned.address.same_host(address))
                return interface.name;
    return "";
}

} // namespace

Address source_toward(const Address &peer) {
    // Connecting a datagram socket sends nothing, but selects the route.
    const Descriptor socket(::socket(peer.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.open())
        throw_errno("cannot open a datagram socket to find the way to " + peer.host());
    // Port 0 is refused by some kernels; which one it is does not matter.
    const Address target = peer.port() != 0 ? peer : peer.with_port(9);
    if (connect(socket.get(), target.raw(), target.size()) != 0) {
        const int code = errno;
        throw Error(Status::system, "this host has no way to " + peer.host() + ": " +
                                        std::strerror(code) + "; its interfaces are " +
                                        in_words(interfaces()) +
                                        "; check its routes, or give an address that it reaches");
    }
    return local_address(socket.get()).with_port(0);
}

LocalAddress choose_local(const Address &peer, Place place, const Address &source,
                          const InterfaceFilter &filter, std::span<const Interface> all) {
    LocalAddress chosen{interface_of(source, all), source};
    if (!filter.takes(chosen.interface)) {
        chosen.address = Address();
        bool neighbours = false; // in the peer's network
        for (const Interface &interface : all)
            for (const Interface::Assigned &assigned : interface.addresses) {
                const Address &address = assigned.address;
                const bool usable = interface.up && filter.takes(interface.name) &&
                                    address.family() == peer.family() &&
                                    (place == Place::anywhere || !address.is_loopback()) &&
                                    (!address.is_link_local() || peer.is_link_local());
                const bool near = address.same_network(peer, assigned.prefix);
                if (!usable || (chosen.address.known() && (neighbours || !near)))
                    continue;
                chosen = {interface.name, address};
                neighbours = near;
            }
    }
    if (!chosen.address.known())
        throw Error(Status::argument,
                    "no interface that " + variable() + "='" + filter.text() +
                        "' leaves is up and has an " + family_name(peer) +
                        " address for the way to " + peer.host() + "; the kernel would go from " +
                        source.host() + "; this host has " + in_words(all) + "; name one of them");
    if (place == Place::other_host && chosen.address.is_loopback())
        throw Error(Status::argument,
                    "the way to " + peer.text() + " begins and ends on this host (" +
                        chosen.address.host() + "), but that peer is on another one; give an " +
                        "address that other hosts reach; this host has " + in_words(all));
    return chosen;
}

LocalAddress local_toward(const Address &peer, Place place, const InterfaceFilter &filter) {
    return choose_local(peer, place, source_toward(peer), filter, interfaces());
}

} // namespace stretto::net
