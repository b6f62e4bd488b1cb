// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/table.hpp"

#include <bit>
#include <utility>

#include "net/bytes.hpp"

namespace stretto::bootstrap {

namespace {

constexpr std::uint32_t kTableMagic = 0x53545433; // and the layout's version
constexpr std::size_t kTableHeadBytes = 56;

// Memory can be laid out like that.
bool is_shape(const AddressTable &table) {
    constexpr std::uint64_t kPageBytes = 4096, kMostBytes = std::uint64_t{1} << 46;
    const auto pages = [](std::uint64_t bytes) {
        return bytes != 0 && bytes % kPageBytes == 0 && bytes <= kMostBytes;
    };
    return std::has_single_bit(table.ring_bytes) && pages(table.ring_bytes) &&
           pages(table.heap_bytes) && table.slice_bytes <= kMostBytes;
}

} // namespace

// After the head, of each rank: | host 4 | endpoints |.
std::vector<std::byte> write(const AddressTable &table) {
    std::vector<std::byte> bytes(kTableHeadBytes);
    const std::span<std::byte> all(bytes);
    net::put(all, 0, kTableMagic);
    net::put(all, 4, static_cast<std::uint32_t>(table.host_of.size()));
    net::put(all, 8, table.ring_bytes);
    net::put(all, 16, table.slice_bytes);
    net::put(all, 24, table.heap_bytes);
    net::put(all, 32, table.key);
    net::put(all, 40, table.cores);
    net::put(all, 44, table.sockets);
    net::put(all, 48, std::uint64_t{table.profile} | std::uint64_t{table.one_machine} << 1);
    for (std::size_t rank = 0; rank < table.host_of.size(); ++rank) {
        bytes.resize(bytes.size() + 4);
        net::put(std::span(bytes).last(4), 0, static_cast<std::uint32_t>(table.host_of[rank]));
        append(bytes, table.endpoints[rank]);
    }
    return bytes;
}

std::optional<AddressTable> parse_table(std::span<const std::byte> bytes) {
    if (bytes.size() < kTableHeadBytes || net::get<std::uint32_t>(bytes, 0) != kTableMagic)
        return std::nullopt;
    const std::size_t ranks = net::get<std::uint32_t>(bytes, 4);
    AddressTable table;
    table.ring_bytes = net::get<std::uint64_t>(bytes, 8);
    table.slice_bytes = net::get<std::uint64_t>(bytes, 16);
    table.heap_bytes = net::get<std::uint64_t>(bytes, 24);
    table.key = net::get<std::uint64_t>(bytes, 32);
    table.cores = net::get<std::uint32_t>(bytes, 40);
    table.sockets = net::get<std::uint32_t>(bytes, 44);
    const auto flags = net::get<std::uint64_t>(bytes, 48);
    table.profile = (flags & 1) != 0;
    table.one_machine = (flags & 2) != 0;
    if (flags > 3 || ranks == 0 || table.key == 0 || table.cores == 0 || table.sockets == 0 ||
        table.sockets > kMostSockets || !is_shape(table))
        return std::nullopt;
    std::span<const std::byte> rest = bytes.subspan(kTableHeadBytes);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (rest.size() < 4)
            return std::nullopt;
        const auto host = net::get<std::uint32_t>(rest, 0);
        rest = rest.subspan(4);
        auto endpoints = transport::take_endpoints(rest);
        if (host >= ranks || !endpoints || endpoints->empty())
            return std::nullopt;
        table.host_of.push_back(static_cast<std::int32_t>(host));
        table.endpoints.push_back(std::move(*endpoints));
    }
    return rest.empty() ? std::optional(std::move(table)) : std::nullopt;
}

} // namespace stretto::bootstrap
