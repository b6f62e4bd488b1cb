// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/local/wire.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "net/bytes.hpp"

namespace stretto::bootstrap {

namespace {

// The kind of a message and the version of all.
constexpr std::uint32_t kVersion = 6;
constexpr std::uint32_t kRecordMagic = 0x53545330 + kVersion;
constexpr std::uint32_t kAnswerMagic = 0x53545230 + kVersion;
constexpr std::size_t kRecordHeadBytes = 32;

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

// Reads all bytes that are left.
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

} // namespace

//     | magic 4 | rank 4 | size 4 | cores here 4 | launch 8 | kernel 8 |
//     | cores | endpoints | lacks |
std::vector<std::byte> write(const RankRecord &record) {
    std::vector<std::byte> bytes(kRecordHeadBytes + sizeof(record.cores));
    const std::span<std::byte> all(bytes);
    net::put(all, 0, kRecordMagic);
    net::put(all, 4, static_cast<std::uint32_t>(record.rank));
    net::put(all, 8, static_cast<std::uint32_t>(record.size));
    net::put(all, 12, record.cores_here);
    net::put(all, 16, record.launch);
    net::put(all, 24, record.kernel);
    std::memcpy(bytes.data() + kRecordHeadBytes, &record.cores, sizeof(record.cores));
    append(bytes, record.endpoints);
    append_lacks(bytes, record.lacks);
    return bytes;
}

std::optional<RankRecord> parse_rank_record(std::span<const std::byte> bytes) {
    RankRecord record;
    if (bytes.size() < kRecordHeadBytes + sizeof(record.cores) ||
        net::get<std::uint32_t>(bytes, 0) != kRecordMagic)
        return std::nullopt;
    record.rank = static_cast<std::int32_t>(net::get<std::uint32_t>(bytes, 4));
    record.size = static_cast<std::int32_t>(net::get<std::uint32_t>(bytes, 8));
    record.cores_here = net::get<std::uint32_t>(bytes, 12);
    record.launch = net::get<std::uint64_t>(bytes, 16);
    record.kernel = net::get<std::uint64_t>(bytes, 24);
    std::memcpy(&record.cores, bytes.data() + kRecordHeadBytes, sizeof(record.cores));
    std::span<const std::byte> rest = bytes.subspan(kRecordHeadBytes + sizeof(record.cores));
    auto endpoints = transport::take_endpoints(rest);
    auto lacks = endpoints ? lacks_of(rest) : std::nullopt;
    if (!lacks)
        return std::nullopt;
    record.endpoints = std::move(*endpoints);
    record.lacks = std::move(*lacks);
    return record;
}

//     | magic 4 | status 4 | message, zeros |
std::array<std::byte, kAnswerBytes> write(Status status, std::string_view message) {
    std::array<std::byte, kAnswerBytes> bytes{};
    net::put(std::span<std::byte>(bytes), 0, kAnswerMagic);
    net::put(std::span<std::byte>(bytes), 4, static_cast<std::uint32_t>(status));
    std::memcpy(bytes.data() + 8, message.data(), std::min(message.size(), kMostMessageBytes - 1));
    return bytes;
}

std::optional<Answer> parse_answer(std::span<const std::byte> bytes) {
    if (bytes.size() != kAnswerBytes || net::get<std::uint32_t>(bytes, 0) != kAnswerMagic)
        return std::nullopt;
    const auto status = net::get<std::uint32_t>(bytes, 4);
    if (status > static_cast<std::uint32_t>(kLastStatus))
        return std::nullopt;
    const auto *text = reinterpret_cast<const char *>(bytes.data() + 8);
    return Answer{static_cast<Status>(status), {text, strnlen(text, kMostMessageBytes)}};
}

} // namespace stretto::bootstrap
