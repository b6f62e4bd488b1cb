// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/network/table.hpp"

#include <bit>
#include <cstring>
#include <utility>

#include "net/bytes.hpp"

namespace stretto::bootstrap {

namespace {

constexpr std::uint32_t kSeatMagic = 0x53545333,
                        kTableMagic = 0x53545433; // and the layout's version
constexpr std::size_t kSeatHeadBytes = 24, kTableHeadBytes = 56;

//     | number 1 | of each: name bytes 1 | why bytes 1 | name | why | ...
void append_lacks(std::vector<std::byte> &to, const std::vector<Lack> &lacks) {
    const auto add = [&](const std::string &text) {
        const auto bytes = std::as_bytes(std::span(text));
        to.insert(to.end(), bytes.begin(), bytes.end());
    };
    to.push_back(static_cast<std::byte>(lacks.size()));
    for (const Lack &each : lacks) {
        to.push_back(static_cast<std::byte>(each.transport.size()));
        to.push_back(static_cast<std::byte>(each.why.size()));
        add(each.transport);
        add(each.why);
    }
}

// All that is left.
std::optional<std::vector<Lack>> lacks_of(std::span<const std::byte> from) {
    const auto number = [&] {
        const auto first = std::to_integer<std::size_t>(from.front());
        from = from.subspan(1);
        return first;
    };
    const auto text = [&](std::size_t bytes) {
        const auto taken = from.first(bytes);
        from = from.subspan(bytes);
        return std::string(reinterpret_cast<const char *>(taken.data()), taken.size());
    };
    if (from.empty())
        return std::nullopt;
    std::vector<Lack> lacks(number());
    if (lacks.size() > transport::kMostTransports)
        return std::nullopt;
    for (Lack &each : lacks) {
        if (from.size() < 2)
            return std::nullopt;
        const std::size_t name = number(), why = number();
        if (from.size() < name + why || why > kMostWhyBytes)
            return std::nullopt;
        each.transport = text(name);
        each.why = text(why);
        if (!transport::is_transport_name(each.transport))
            return std::nullopt;
    }
    return from.empty() ? std::optional(std::move(lacks)) : std::nullopt;
}

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

//     | version 4 | rank 4 | size 4 | cores here 4 | launch 8 | cores | endpoints | lacks |
std::vector<std::byte> write(const RankRecord &record) {
    std::vector<std::byte> bytes(kSeatHeadBytes + sizeof(record.cores));
    const std::span<std::byte> all(bytes);
    net::put(all, 0, kSeatMagic);
    net::put(all, 4, static_cast<std::uint32_t>(record.rank));
    net::put(all, 8, static_cast<std::uint32_t>(record.size));
    net::put(all, 12, record.cores_here);
    net::put(all, 16, record.launch);
    std::memcpy(bytes.data() + kSeatHeadBytes, &record.cores, sizeof(record.cores));
    append(bytes, record.endpoints);
    append_lacks(bytes, record.lacks);
    return bytes;
}

std::optional<RankRecord> parse_rank_record(std::span<const std::byte> bytes) {
    RankRecord record;
    if (bytes.size() < kSeatHeadBytes + sizeof(record.cores) ||
        net::get<std::uint32_t>(bytes, 0) != kSeatMagic)
        return std::nullopt;
    record.rank = static_cast<std::int32_t>(net::get<std::uint32_t>(bytes, 4));
    record.size = static_cast<std::int32_t>(net::get<std::uint32_t>(bytes, 8));
    record.cores_here = net::get<std::uint32_t>(bytes, 12);
    record.launch = net::get<std::uint64_t>(bytes, 16);
    std::memcpy(&record.cores, bytes.data() + kSeatHeadBytes, sizeof(record.cores));
    std::span<const std::byte> rest = bytes.subspan(kSeatHeadBytes + sizeof(record.cores));
    auto endpoints = transport::take_endpoints(rest);
    auto lacks = endpoints ? lacks_of(rest) : std::nullopt;
    if (!lacks)
        return std::nullopt;
    record.endpoints = std::move(*endpoints);
    record.lacks = std::move(*lacks);
    return record;
}

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
    net::put(all, 48, std::uint64_t{table.profile});
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
    const auto profile = net::get<std::uint64_t>(bytes, 48);
    table.profile = profile == 1;
    if (profile > 1 || ranks == 0 || table.key == 0 || table.cores == 0 || table.sockets == 0 ||
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
