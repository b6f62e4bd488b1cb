// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/tcp_address.hpp"

#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>

#include "net/bytes.hpp"

namespace stretto::bootstrap {

namespace {

constexpr std::uint16_t kNone = 0, kV4 = 4, kV6 = 6;

} // namespace

std::vector<std::byte> tcp_bytes(const net::Address &address) {
    std::vector<std::byte> bytes(kTcpAddressBytes);
    const std::span<std::byte> all(bytes);
    const bool v6 = address.family() == AF_INET6;
    net::put(all, 0, v6 ? kV6 : kV4);
    net::put(all, 2, address.port());
    if (v6)
        std::memcpy(bytes.data() + 4,
                    &reinterpret_cast<const sockaddr_in6 *>(address.raw())->sin6_addr, 16);
    else
        std::memcpy(bytes.data() + 4,
                    &reinterpret_cast<const sockaddr_in *>(address.raw())->sin_addr, 4);
    return bytes;
}

std::optional<net::Address> tcp_address(std::span<const std::byte> bytes) {
    if (bytes.size() != kTcpAddressBytes)
        return std::nullopt;
    const auto family = net::get<std::uint16_t>(bytes, 0);
    const std::uint16_t port = htons(net::get<std::uint16_t>(bytes, 2));
    if (port == 0)
        return std::nullopt;
    if (family == kV6) {
        sockaddr_in6 raw{};
        raw.sin6_family = AF_INET6;
        raw.sin6_port = port;
        std::memcpy(&raw.sin6_addr, bytes.data() + 4, 16);
        return net::Address(reinterpret_cast<const sockaddr *>(&raw), sizeof(raw));
    }
    if (family != kV4)
        return std::nullopt;
    sockaddr_in raw{};
    raw.sin_family = AF_INET;
    raw.sin_port = port;
    std::memcpy(&raw.sin_addr, bytes.data() + 4, 4);
    return net::Address(reinterpret_cast<const sockaddr *>(&raw), sizeof(raw));
}

std::vector<std::byte> tcp_bytes(std::uint16_t port) {
    std::vector<std::byte> bytes(kTcpAddressBytes);
    net::put(std::span(bytes), 0, kNone);
    net::put(std::span(bytes), 2, port);
    return bytes;
}

std::uint16_t tcp_port_alone(std::span<const std::byte> bytes) {
    const bool alone =
        bytes.size() == kTcpAddressBytes && net::get<std::uint16_t>(bytes, 0) == kNone;
    return alone ? net::get<std::uint16_t>(bytes, 2) : std::uint16_t{0};
}

} // namespace stretto::bootstrap
