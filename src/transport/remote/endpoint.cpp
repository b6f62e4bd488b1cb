// SPDX-License-Identifier: BSD-3-Clause
#include "transport/remote/endpoint.hpp"

#include <algorithm>

#include "net/bytes.hpp"

namespace stretto::transport {

namespace {

constexpr std::size_t kHeadBytes = 6;
constexpr std::uint8_t kForData = 1;

std::string_view text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace

bool is_transport_name(std::string_view name) {
    const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
    return !name.empty() && name.size() <= kMostNameBytes && letter(name.front()) &&
           std::ranges::all_of(
               name, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

const EndpointAddress *find(const Endpoints &endpoints, std::string_view transport) {
    const auto found = std::ranges::find(endpoints, transport, &EndpointAddress::transport);
    return found == endpoints.end() ? nullptr : &*found;
}

void append(std::vector<std::byte> &to, const Endpoints &endpoints) {
    to.push_back(static_cast<std::byte>(endpoints.size()));
    for (const EndpointAddress &each : endpoints) {
        const std::size_t head = to.size();
        to.resize(head + kHeadBytes);
        const std::span<std::byte> all(to);
        net::put(all, head, static_cast<std::uint8_t>(each.transport.size()));
        net::put(all, head + 1, each.for_data ? kForData : std::uint8_t{0});
        net::put(all, head + 2, each.version);
        net::put(all, head + 4, static_cast<std::uint16_t>(each.bytes.size()));
        const auto name = std::as_bytes(std::span(each.transport));
        to.insert(to.end(), name.begin(), name.end());
        to.insert(to.end(), each.bytes.begin(), each.bytes.end());
    }
}

std::optional<Endpoints> take_endpoints(std::span<const std::byte> &from) {
    if (from.empty())
        return std::nullopt;
    std::span<const std::byte> rest = from.subspan(1);
    const auto number = std::to_integer<std::size_t>(from[0]);
    if (number > kMostTransports)
        return std::nullopt;
    Endpoints endpoints;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < number; ++i) {
        if (rest.size() < kHeadBytes)
            return std::nullopt;
        const std::size_t name = net::get<std::uint8_t>(rest, 0);
        const auto flags = net::get<std::uint8_t>(rest, 1);
        const std::size_t length = net::get<std::uint16_t>(rest, 4);
        bytes += length;
        if (rest.size() < kHeadBytes + name + length || flags > kForData ||
            bytes > kMostAddressBytes)
            return std::nullopt;
        EndpointAddress address;
        address.transport = text(rest.subspan(kHeadBytes, name));
        address.version = net::get<std::uint16_t>(rest, 2);
        address.for_data = flags == kForData;
        const auto own = rest.subspan(kHeadBytes + name, length);
        address.bytes.assign(own.begin(), own.end());
        if (!is_transport_name(address.transport) || find(endpoints, address.transport) != nullptr)
            return std::nullopt;
        endpoints.push_back(std::move(address));
        rest = rest.subspan(kHeadBytes + name + length);
    }
    from = rest;
    return endpoints;
}

} // namespace stretto::transport
