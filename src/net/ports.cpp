// SPDX-License-Identifier: BSD-3-Clause
// Listens in a range of ports, which a firewall lets through.
#include <algorithm>
#include <charconv>

#include "base/settings.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"
#include "net/sockets.hpp"

namespace stretto::net {

namespace {

std::string words(const PortRange &range) {
    return std::to_string(range.first) + "-" + std::to_string(range.last);
}

} // namespace

PortRange parse_ports(std::string_view variable, std::string_view text) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto port = [&](std::string_view digits) {
        std::uint16_t number = 0;
        const char *const end = digits.data() + digits.size();
        const auto [rest, error] = std::from_chars(digits.data(), end, number);
        return error == std::errc() && rest == end ? number : std::uint16_t{0};
    };
    const PortRange range{port(text.substr(0, dash)),
                          port(dash == text.size() ? text : text.substr(dash + 1))};
    if (range.first == 0 || range.last < range.first)
        throw Error(Status::argument, std::string(variable) + " is '" + shown(text) +
                                          "'; it takes a range of ports from 1 to 65535, as "
                                          "29401-29420");
    return range;
}

PortRange port_range(std::string_view setting) {
    return setting.empty() ? PortRange() : parse_ports(info(Setting::ports).variable, setting);
}

Descriptor listen_within(const PortRange &range, unsigned turn, std::uint16_t except) {
    if (range.first == 0)
        return listen_everywhere(0);
    const unsigned ports = range.last - range.first + 1u;
    for (unsigned i = 0; i < ports; ++i) {
        const auto port = static_cast<std::uint16_t>(range.first + (turn + i) % ports);
        if (port == except)
            continue;
        if (Descriptor socket = try_to_listen(port); socket.open())
            return socket;
    }
    throw Error(Status::system,
                "none of the " + std::to_string(ports) + " port(s) of " +
                    std::string(info(Setting::ports).variable) + "=" + words(range) +
                    " is free on " + host_name() +
                    "; each rank takes one, but not the port at which the ranks meet: name more");
}

} // namespace stretto::net
