// SPDX-License-Identifier: BSD-3-Clause
// What the bytes of a TCP endpoint address mean:
//
//     | family 2: 4 or 6, or 0 where the host is not known yet | port 2 | address 16 |
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "net/address.hpp"

namespace stretto::bootstrap {

inline constexpr std::size_t kTcpAddressBytes = 20;

std::vector<std::byte> tcp_bytes(const net::Address &address);
// Nothing, if that is none that can be called.
std::optional<net::Address> tcp_address(std::span<const std::byte> bytes);
// Of an address whose host is not known yet; the port of one, 0 if it is none.
std::vector<std::byte> tcp_bytes(std::uint16_t port);
std::uint16_t tcp_port_alone(std::span<const std::byte> bytes);

} // namespace stretto::bootstrap
