// SPDX-License-Identifier: BSD-3-Clause
#include "net/address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <span>

#include "base/spelling.hpp"
#include "base/status.hpp"

namespace stretto::net {

namespace {

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// `error`: of getaddrinfo(3).
Found look_up(const std::string &host, int family, int flags, int &error) {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo *list = nullptr;
    error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
    return {error == 0 ? list : nullptr, &freeaddrinfo};
}

std::span<const std::uint8_t> bytes_of(const in_addr &address) {
    return {reinterpret_cast<const std::uint8_t *>(&address), sizeof(address)};
}
std::span<const std::uint8_t> bytes_of(const in6_addr &address) {
    return {address.s6_addr, sizeof(address.s6_addr)};
}

bool same_bits(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, unsigned bits) {
    const std::size_t whole = std::min<std::size_t>(bits / 8, a.size());
    if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(whole), b.begin()))
        return false;
    const unsigned rest = bits % 8;
    return whole == a.size() || rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

} // namespace

Address::Address(const sockaddr *address, socklen_t size) {
    if (address->sa_family == AF_INET && size >= sizeof(raw_.v4)) {
        std::memcpy(&raw_.v4, address, sizeof(raw_.v4));
    } else if (address->sa_family == AF_INET6 && size >= sizeof(raw_.v6)) {
        sockaddr_in6 v6;
        std::memcpy(&v6, address, sizeof(v6));
        if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
            raw_.v6 = v6;
            return;
        }
        raw_.v4.sin_family = AF_INET;
        raw_.v4.sin_port = v6.sin6_port;
        std::memcpy(&raw_.v4.sin_addr, v6.sin6_addr.s6_addr + 12, sizeof(in_addr));
    }
}

std::optional<Address> Address::numeric(std::string_view host, std::uint16_t port) {
    const std::string text(host);
    if (text.find('\0') != std::string::npos)
        return std::nullopt;
    // getaddrinfo is not used: it takes "10.1" for an address, too.
    sockaddr_in v4{};
    if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
        v4.sin_family = AF_INET;
        return Address(reinterpret_cast<sockaddr *>(&v4), sizeof(v4)).with_port(port);
    }
    int error = 0; // it understands the scope after '%'
    const Found found = look_up(text, AF_INET6, AI_NUMERICHOST, error);
    if (found == nullptr)
        return std::nullopt;
    const Address address(found->ai_addr, found->ai_addrlen);
    // It accepts a scope for other addresses too, where the scope has no meaning and cannot be read
    // back.
    if (address.family() == AF_INET6 && address.raw_.v6.sin6_scope_id != 0 &&
        !address.is_link_local())
        return std::nullopt;
    return address.with_port(port);
}

Address Address::any(int family, std::uint16_t port) {
    Address result;
    result.raw_.generic.sa_family = static_cast<sa_family_t>(family);
    return result.with_port(port);
}

std::uint16_t Address::port() const {
    switch (family()) {
    case AF_INET: return ntohs(raw_.v4.sin_port);
    case AF_INET6: return ntohs(raw_.v6.sin6_port);
    default: return 0;
    }
}

Address Address::with_port(std::uint16_t port) const {
    Address result = *this;
    if (family() == AF_INET)
        result.raw_.v4.sin_port = htons(port);
    else if (family() == AF_INET6)
        result.raw_.v6.sin6_port = htons(port);
    return result;
}

bool Address::is_loopback() const {
    if (family() == AF_INET)
        return ntohl(raw_.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&raw_.v6.sin6_addr);
}

bool Address::is_link_local() const {
    if (family() == AF_INET)
        return ntohl(raw_.v4.sin_addr.s_addr) >> 16 == 0xa9fe; // 169.254.0.0/16
    return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&raw_.v6.sin6_addr);
}

bool Address::same_host(const Address &other) const {
    return same_network(other, 128) &&
           (family() != AF_INET6 || raw_.v6.sin6_scope_id == other.raw_.v6.sin6_scope_id);
}

bool Address::same_network(const Address &other, unsigned bits) const {
    if (family() != other.family())
        return false;
    if (family() == AF_INET)
        return same_bits(bytes_of(raw_.v4.sin_addr), bytes_of(other.raw_.v4.sin_addr), bits);
    return family() != AF_INET6 ||
           same_bits(bytes_of(raw_.v6.sin6_addr), bytes_of(other.raw_.v6.sin6_addr), bits);
}

std::string Address::host() const {
    char name[INET6_ADDRSTRLEN] = "";
    if (family() == AF_INET) {
        inet_ntop(AF_INET, &raw_.v4.sin_addr, name, sizeof(name));
        return name;
    }
    if (family() != AF_INET6)
        return "nowhere";
    inet_ntop(AF_INET6, &raw_.v6.sin6_addr, name, sizeof(name));
    std::string text = name;
    if (const unsigned scope = raw_.v6.sin6_scope_id; scope != 0) {
        char interface[IF_NAMESIZE] = "";
        if_indextoname(scope, interface);
        text += '%';
        text += *interface != '\0' ? std::string(interface) : std::to_string(scope);
    }
    return text;
}

std::string Address::text() const {
    const std::string port_text = ":" + std::to_string(port());
    return (family() == AF_INET6 ? "[" + host() + "]" : host()) + port_text;
}

socklen_t Address::size() const {
    return family() == AF_INET ? sizeof(raw_.v4) : sizeof(raw_.v6);
}

bool can_name_host(std::string_view host) {
    constexpr std::size_t kLongestNameBytes = 253; // of DNS
    return !host.empty() && host.size() <= kLongestNameBytes &&
           host.find_first_of("[]") == std::string_view::npos &&
           std::all_of(host.begin(), host.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Endpoint parse_endpoint(std::string_view variable, std::string_view text) {
    const auto refuse = [&](const std::string &why) {
        throw Error(Status::argument, std::string(variable) + " is '" + shown(text) + "', " + why +
                                          "; it takes a host and a port, as node7:29400, "
                                          "10.0.0.1:29400 or [fd00::1]:29400");
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos)
        refuse("without a port");
    std::string_view host = text.substr(0, colon);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
        if (host.find(':') == std::string_view::npos)
            refuse("which has no IPv6 address between its brackets");
    } else if (host.find(':') != std::string_view::npos) {
        refuse("which has several colons: an IPv6 address takes brackets");
    }
    if (!can_name_host(host))
        refuse("which names no host");
    const std::string_view digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size() || port == 0)
        refuse("whose port is none from 1 to 65535");
    return {std::string(host), port};
}

std::vector<Address> resolve(const Endpoint &endpoint, int family) {
    int error = 0;
    const Found found = look_up(endpoint.host, family, 0, error);
    std::vector<Address> addresses;
    for (const addrinfo *each = found.get(); each != nullptr; each = each->ai_next) {
        const Address address = Address(each->ai_addr, each->ai_addrlen).with_port(endpoint.port);
        if (address.known() &&
            std::find(addresses.begin(), addresses.end(), address) == addresses.end())
            addresses.push_back(address);
    }
    if (addresses.empty())
        throw Error(Status::system, "cannot find the address of host '" + shown(endpoint.host) +
                                        "': " + (error != 0 ? gai_strerror(error) : "it has none") +
                                        "; give a name that this host can resolve, or an address");
    return addresses;
}

} // namespace stretto::net
