// SPDX-License-Identifier: BSD-3-Clause
#include "comm/hosts/table.hpp"

#include <arpa/inet.h>
#include <bit>
#include <cstring>
#include <netinet/in.h>

#include "net/bytes.hpp"

namespace stretto::comm {

namespace {

constexpr std::uint32_t kSeat = 0x53545332, kTable = 0x53545432; // and the layout's version
constexpr std::size_t kAddressBytes = 20;                        // family 2, port 2, address 16
constexpr std::size_t kSeatBytes = 28 + kAddressBytes + sizeof(CoreSet);
constexpr std::size_t kTableHead = 56, kEntryBytes = 4 + kAddressBytes;
static_assert(kSeatBytes <= kMostSeatBytes);

constexpr std::uint16_t kNone = 0, kV4 = 4, kV6 = 6;

void put_address(std::span<std::byte> bytes, const net::Address &address) {
    if (!address.known())
        return; // zeros
    const bool v6 = address.family() == AF_INET6;
    net::put(bytes, 0, v6 ? kV6 : kV4);
    net::put(bytes, 2, address.port());
    if (v6)
        std::memcpy(bytes.data() + 4,
                    &reinterpret_cast<const sockaddr_in6 *>(address.raw())->sin6_addr, 16);
    else
        std::memcpy(bytes.data() + 4,
                    &reinterpret_cast<const sockaddr_in *>(address.raw())->sin_addr, 4);
}

std::optional<net::Address> get_address(std::span<const std::byte> bytes) {
    const auto family = net::get<std::uint16_t>(bytes, 0);
    const std::uint16_t port = htons(net::get<std::uint16_t>(bytes, 2));
    if (family == kNone)
        return net::Address();
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

// Memory can be laid out like that.
bool is_shape(const Table &table) {
    constexpr std::uint64_t kPage = 4096, kMost = std::uint64_t{1} << 46;
    const auto pages = [](std::uint64_t bytes) {
        return bytes != 0 && bytes % kPage == 0 && bytes <= kMost;
    };
    return std::has_single_bit(table.ring_bytes) && pages(table.ring_bytes) &&
           pages(table.heap_bytes) && table.slice_bytes <= kMost;
}

} // namespace

std::vector<std::byte> write(const Seat &seat) {
    std::vector<std::byte> bytes(kSeatBytes);
    const std::span<std::byte> all(bytes);
    net::put(all, 0, kSeat);
    net::put(all, 4, static_cast<std::uint32_t>(seat.rank));
    net::put(all, 8, static_cast<std::uint32_t>(seat.size));
    net::put(all, 12, seat.cores_here);
    net::put(all, 16, seat.port);
    net::put(all, 20, seat.launch);
    put_address(all.subspan(28), seat.address);
    std::memcpy(bytes.data() + 28 + kAddressBytes, &seat.cores, sizeof(seat.cores));
    return bytes;
}

std::optional<Seat> parse_seat(std::span<const std::byte> bytes) {
    if (bytes.size() != kSeatBytes || net::get<std::uint32_t>(bytes, 0) != kSeat)
        return std::nullopt;
    const auto address = get_address(bytes.subspan(28));
    if (!address)
        return std::nullopt;
    Seat seat;
    seat.rank = static_cast<std::int32_t>(net::get<std::uint32_t>(bytes, 4));
    seat.size = static_cast<std::int32_t>(net::get<std::uint32_t>(bytes, 8));
    seat.cores_here = net::get<std::uint32_t>(bytes, 12);
    seat.port = net::get<std::uint16_t>(bytes, 16);
    seat.launch = net::get<std::uint64_t>(bytes, 20);
    seat.address = *address;
    std::memcpy(&seat.cores, bytes.data() + 28 + kAddressBytes, sizeof(seat.cores));
    return seat;
}

std::vector<std::byte> write(const Table &table) {
    std::vector<std::byte> bytes(kTableHead + kEntryBytes * table.host_of.size());
    const std::span<std::byte> all(bytes);
    net::put(all, 0, kTable);
    net::put(all, 4, static_cast<std::uint32_t>(table.host_of.size()));
    net::put(all, 8, table.ring_bytes);
    net::put(all, 16, table.slice_bytes);
    net::put(all, 24, table.heap_bytes);
    net::put(all, 32, table.key);
    net::put(all, 40, table.cores);
    net::put(all, 44, table.sockets);
    net::put(all, 48, std::uint64_t{table.profile});
    for (std::size_t rank = 0; rank < table.host_of.size(); ++rank) {
        const std::span<std::byte> entry = all.subspan(kTableHead + kEntryBytes * rank);
        net::put(entry, 0, static_cast<std::uint32_t>(table.host_of[rank]));
        put_address(entry.subspan(4), table.addresses[rank]);
    }
    return bytes;
}

std::optional<Table> parse_table(std::span<const std::byte> bytes) {
    if (bytes.size() < kTableHead || net::get<std::uint32_t>(bytes, 0) != kTable)
        return std::nullopt;
    const std::size_t ranks = net::get<std::uint32_t>(bytes, 4);
    if ((bytes.size() - kTableHead) / kEntryBytes != ranks ||
        (bytes.size() - kTableHead) % kEntryBytes != 0)
        return std::nullopt;
    Table table;
    table.ring_bytes = net::get<std::uint64_t>(bytes, 8);
    table.slice_bytes = net::get<std::uint64_t>(bytes, 16);
    table.heap_bytes = net::get<std::uint64_t>(bytes, 24);
    table.key = net::get<std::uint64_t>(bytes, 32);
    table.cores = net::get<std::uint32_t>(bytes, 40);
    table.sockets = net::get<std::uint32_t>(bytes, 44);
    const auto profile = net::get<std::uint64_t>(bytes, 48);
    table.profile = profile == 1;
    if (profile > 1 || ranks == 0 || table.key == 0 || table.cores == 0 || table.sockets == 0 ||
        table.sockets > kMostSockets || !is_shape(table))
        return std::nullopt;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::span<const std::byte> entry = bytes.subspan(kTableHead + kEntryBytes * rank);
        const auto host = net::get<std::uint32_t>(entry, 0);
        const auto address = get_address(entry.subspan(4));
        if (host >= ranks || !address || !address->known() || address->port() == 0)
            return std::nullopt;
        table.host_of.push_back(static_cast<std::int32_t>(host));
        table.addresses.push_back(*address);
    }
    return table;
}

} // namespace stretto::comm
