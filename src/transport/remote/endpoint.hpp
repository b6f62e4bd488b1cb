// SPDX-License-Identifier: BSD-3-Clause
// Endpoint addresses: by such an address a transport reaches a rank.  The bootstrap exchanges them
// between ranks.  Only the transport of that name understands them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stretto::transport {

struct EndpointAddress {
    std::string transport;        // its name
    std::uint16_t version = 0;    // of the format of the bytes
    bool for_data = true;         // false: the rank receives no data by it
    std::vector<std::byte> bytes; // in the transport's own format

    friend bool operator==(const EndpointAddress &, const EndpointAddress &) = default;
};

// The addresses of one rank: at most one of each transport.
using Endpoints = std::vector<EndpointAddress>;

inline constexpr std::size_t kMostTransports = 8;      // of a rank
inline constexpr std::size_t kMostNameBytes = 31;      // of a transport
inline constexpr std::size_t kMostAddressBytes = 2048; // of all addresses of a rank together
// The size of what append() writes.
inline constexpr std::size_t kMostEndpointsBytes =
    1 + kMostTransports * (6 + kMostNameBytes) + kMostAddressBytes;

// A letter, then letters, digits and "_": all lower case.
bool is_transport_name(std::string_view name);
// Null if the rank has none.
const EndpointAddress *find(const Endpoints &endpoints, std::string_view transport);

//     | number 1 | of each: name bytes 1 | flags 1 | version 2 | bytes 2 | name | bytes | ...
void append(std::vector<std::byte> &to, const Endpoints &endpoints);
// Reads them from the front of the bytes.  Nothing if these are no endpoints, or more than is
// allowed.
std::optional<Endpoints> take_endpoints(std::span<const std::byte> &from);

} // namespace stretto::transport
