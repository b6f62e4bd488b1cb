// SPDX-License-Identifier: BSD-3-Clause
// TCP sockets: listening and connecting without ever blocking.  Errors name the address.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.hpp"
#include "net/address.hpp"

namespace stretto::net {

// Listens; port 0: the kernel chooses one, which local_address() returns.
Descriptor listen_at(const Address &at);
// Listens at all addresses of this host: IPv6 and IPv4, or IPv4 alone if the kernel has no IPv6.
Descriptor listen_everywhere(std::uint16_t port);
// The same, but the result is not open if another process has the port.
Descriptor try_to_listen(std::uint16_t port);

// The first and the last of a range of ports, as "29401-29420" or "29401".  Throws Error(argument)
// that names `variable`, the source of the text.
struct PortRange {
    std::uint16_t first = 0, last = 0; // 0: any, which the kernel chooses
};
PortRange parse_ports(std::string_view variable, std::string_view text);
// The range of STRETTO_PORTS, which is `setting`; "": any.
PortRange port_range(std::string_view setting);
// Listens at the first free port of the range, beginning with the one at index `turn`; never at
// `except`, which another rank uses.
Descriptor listen_within(const PortRange &range, unsigned turn, std::uint16_t except = 0);

Address local_address(int socket);
Address remote_address(int socket); // none, if it is not connected any more

// A process that connects to a free port of the range from which the kernel takes its own port may
// connect to itself.
bool connected_to_itself(int socket);

// A connection that is being made.
class Connecting {
public:
    // `from`: the address of this host to connect from, or none.
    explicit Connecting(const Address &to, const Address &from = {});
    int descriptor() const { return socket_.get(); } // becomes writable when the result is known
    int outcome() const;                             // 0, or the errno
    Descriptor take() { return std::move(socket_); }

private:
    Descriptor socket_;
    int error_ = 0; // why it failed at once
};
// Blocks until `deadline` (of now_ns()) at most.  Throws Error(timeout) or Error(system) that names
// both sides.
Descriptor connect_until(std::uint64_t deadline, const Address &to, const Address &from = {});

// Turns off Nagle's algorithm: data is sent at once.
void send_without_delay(int socket);

// The name of this host, for messages.
const std::string &host_name();

} // namespace stretto::net
