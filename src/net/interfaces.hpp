// SPDX-License-Identifier: BSD-3-Clause
// The network interfaces of this host, and the choice of the one by which to reach a peer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.hpp"

namespace stretto::net {

struct Interface {
    struct Assigned {
        Address address; // port 0
        unsigned prefix; // bits of the network: 24 of 10.0.0.3/24
    };
    std::string name;
    bool up = false; // switched on, and with a carrier
    bool loopback = false;
    unsigned mtu = 0;                 // bytes; 0: not known
    std::optional<unsigned> megabits; // per second, if the driver reports it
    std::vector<Assigned> addresses;
};

// The interfaces as they are now, in the kernel's order.
std::vector<Interface> interfaces();
// For messages: "eth0 10.0.0.3/24, eth1 (down), lo 127.0.0.1/8".
std::string in_words(std::span<const Interface> all);

// STRETTO_IFACE: "eth", "eth0,ib", "=eth1", "^docker,lo".  Each is the beginning of a name, after
// "=" the whole of it; a list that begins with "^" excludes.
class InterfaceFilter {
public:
    InterfaceFilter() = default; // takes all
    // Throws Error(argument) that says what is wrong.
    explicit InterfaceFilter(std::string_view list);
    bool takes_all() const { return words_.empty(); }
    bool takes(std::string_view interface) const;
    const std::string &text() const { return text_; }

private:
    std::string text_;
    std::vector<std::string> words_;
    bool excludes_ = false, whole_ = false;
};
// Throws Error(argument) if the setting, which may be "", is malformed.
void check_interface_filter(std::string_view setting);
// The filter that the setting describes, or one that takes all if it is malformed: this rank still
// has to tell the others why it fails.
InterfaceFilter interface_filter(std::string_view setting);

// What is known of a peer's location.
enum class Place { anywhere, other_host };

struct LocalAddress {
    std::string interface; // "" if the address is on none
    Address address;       // port 0
};

// The address from which the kernel sends to `peer`: nothing is sent.  Throws Error(system) if
// there is no route; the error names the peer and the interfaces of this host.
Address source_toward(const Address &peer);

// The address of this host at which `peer` reaches it: `source`, from where the kernel would send,
// if the filter takes its interface; else that of an interface which the filter does take, best one
// in the peer's own network.  Throws Error(argument) if there is none, and for a loopback address
// if the peer is on another host.  The error lists the interfaces and names the setting to change.
LocalAddress choose_local(const Address &peer, Place place, const Address &source,
                          const InterfaceFilter &filter, std::span<const Interface> all);
// The same, of this host as it is now.
LocalAddress local_toward(const Address &peer, Place place, const InterfaceFilter &filter);

} // namespace stretto::net
