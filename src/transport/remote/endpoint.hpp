// SPDX-License-Identifier: BSD-3-Clause
// Endpoint addresses: where a rank is reached by a transport.  The bootstrap carries them between
// ranks and does not know what they mean: the transport of that name alone does.
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
    std::uint16_t version = 0;    // of what the bytes mean
    bool for_data = true;         // false: the rank takes no data by it
    std::vector<std::byte> bytes; // of the transport's own

    friend bool operator==(const EndpointAddress &, const EndpointAddress &) = default;
};

// Of one rank: at most one of each transport.
using Endpoints = std::vector<EndpointAddress>;

inline constexpr std::size_t kMostTransports = 8;      // of a rank
inline constexpr std::size_t kMostNameBytes = 31;      // of a transport
inline constexpr std::size_t kMostAddressBytes = 2048; // of all addresses of a rank together
// Of what append() writes.
inline constexpr std::size_t kMostEndpointsBytes =
    1 + kMostTransports * (6 + kMostNameBytes) + kMostAddressBytes;

// A letter, then letters, digits and "_": all lower case.
bool is_transport_name(std::string_view name);
// Null if the rank has none.
const EndpointAddress *find(const Endpoints &endpoints, std::string_view transport);

//     | number 1 | of each: name bytes 1 | flags 1 | version 2 | bytes 2 | name | bytes | ...
void append(std::vector<std::byte> &to, const Endpoints &endpoints);
// Takes them from the front.  Nothing, if these are no endpoints or more than is allowed.
std::optional<Endpoints> take_endpoints(std::span<const std::byte> &from);

} // namespace stretto::transport
