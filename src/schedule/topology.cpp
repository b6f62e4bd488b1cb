// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/topology.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <system_error>

#include "base/numbering.hpp"
#include "base/spelling.hpp"
#include "base/status.hpp"

namespace stretto::schedule {

namespace {

using Numbers = std::vector<std::int32_t>;

constexpr std::int32_t kMostRanks = 1 << 20; // in a text
constexpr std::string_view kCyclic = "cyclic:", kMap = "map:";

[[noreturn]] void refuse_topology(const std::string &what) {
    throw Error(Status::argument, what);
}

[[noreturn]] void refuse_text(std::string_view text, const std::string &why) {
    refuse_topology(
        "hosts '" + shown(text) + "': " + why +
        "; hosts are written as 4, 8x4, 3,1,2, cyclic:3x4 or map:0,1,0,2, where 2x8/4 says that "
        "4 ranks of a host share a cache");
}

std::optional<std::int32_t> number_in(std::string_view text, std::int32_t least) {
    std::int32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least ||
        value > kMostRanks)
        return std::nullopt;
    return value;
}

// "3,1,2"
std::optional<Numbers> list_in(std::string_view text, std::int32_t least) {
    Numbers found;
    while (true) {
        const std::size_t comma = text.find(',');
        const auto value = number_in(trimmed(text.substr(0, comma)), least);
        if (!value || found.size() >= static_cast<std::size_t>(kMostRanks))
            return std::nullopt;
        found.push_back(*value);
        if (comma == std::string_view::npos)
            return found;
        text.remove_prefix(comma + 1);
    }
}

// Distributes ranks to hosts as evenly as possible: neighbours share a host, or ranks go to the
// hosts in turn.
//
//   8 on 3    0 1 2 | 3 4 5 | 6 7    or    0 3 6 | 1 4 7 | 2 5
Numbers even_sizes(std::int64_t hosts, std::int64_t ranks, bool dealt) {
    Numbers sizes;
    const auto begin = [&](std::int64_t host) { return (host * ranks + hosts - 1) / hosts; };
    for (std::int64_t host = 0; host < hosts; ++host)
        sizes.push_back(static_cast<std::int32_t>(dealt ? (ranks + hosts - 1 - host) / hosts
                                                        : begin(host + 1) - begin(host)));
    return sizes;
}

// The number of ranks of each host: "8x4", "3,1,2", or "4" hosts for the given number of ranks.
Numbers sizes_in(std::string_view whole, std::string_view text, Position ranks, bool dealt) {
    if (const std::size_t times = text.find('x'); times != std::string_view::npos) {
        const auto hosts = number_in(text.substr(0, times), 1);
        const auto each = number_in(text.substr(times + 1), 1);
        if (!hosts || !each || *hosts > kMostRanks / *each)
            refuse_text(whole, "two numbers from 1 on belong around the x, whose product is at "
                               "most " +
                                   std::to_string(kMostRanks));
        return Numbers(static_cast<std::size_t>(*hosts), *each);
    }
    auto sizes = list_in(text, 1);
    if (!sizes)
        refuse_text(whole, "a number from 1 on is expected where '" + shown(text) + "' stands");
    if (text.find(',') != std::string_view::npos) {
        if (std::accumulate(sizes->begin(), sizes->end(), std::int64_t{0}) > kMostRanks)
            refuse_text(whole, "these are more than " + std::to_string(kMostRanks) + " ranks");
        return *sizes;
    }
    const std::int32_t hosts = sizes->front();
    if (ranks == 0)
        refuse_text(whole, "it does not say how many ranks there are");
    if (hosts > ranks)
        refuse_topology(std::to_string(ranks) + " ranks cannot be on " + std::to_string(hosts) +
                        " hosts");
    return even_sizes(hosts, ranks, dealt);
}

Numbers blocked(const Numbers &sizes) {
    Numbers host_of;
    for (std::size_t host = 0; host < sizes.size(); ++host)
        host_of.insert(host_of.end(), static_cast<std::size_t>(sizes[host]),
                       static_cast<std::int32_t>(host));
    return host_of;
}

Numbers cyclic(Numbers room) {
    Numbers host_of, with_room(room.size());
    std::iota(with_room.begin(), with_room.end(), 0);
    while (!with_room.empty()) {
        host_of.insert(host_of.end(), with_room.begin(), with_room.end());
        std::erase_if(with_room,
                      [&](auto host) { return --room[static_cast<std::size_t>(host)] == 0; });
    }
    return host_of;
}

// On each host, this many neighbours share a cache.
Numbers caches(const Numbers &host_of, std::int32_t size) {
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> number;
    std::map<std::int32_t, std::int32_t> before; // of each host
    Numbers cache_of;
    for (const std::int32_t host : host_of)
        cache_of.push_back(number
                               .emplace(std::pair(host, before[host]++ / size),
                                        static_cast<std::int32_t>(number.size()))
                               .first->second);
    return cache_of;
}

std::string joined(const Numbers &numbers) {
    std::string text;
    for (const std::int32_t number : numbers)
        text.append(text.empty() ? "" : ",").append(std::to_string(number));
    return text;
}

std::string written(const Numbers &sizes) {
    const bool same = std::ranges::all_of(sizes, [&](auto size) { return size == sizes.front(); });
    return same ? std::to_string(sizes.size()) + "x" + std::to_string(sizes.front())
                : joined(sizes);
}

} // namespace

Topology::Topology(std::span<const std::int32_t> host_of, std::span<const std::int32_t> cache_of)
    : host_of_(numbered_in_order(host_of)), cache_of_(numbered_in_order(cache_of)) {
    const auto negative = [](std::int32_t number) { return number < 0; };
    if (std::ranges::any_of(host_of, negative) || std::ranges::any_of(cache_of, negative))
        refuse_topology("topology: a host or a cache has a negative number");
    if (!cache_of_.empty() && cache_of_.size() != host_of_.size())
        refuse_topology("topology: " + std::to_string(cache_of_.size()) +
                        " positions have caches, " + std::to_string(host_of_.size()) +
                        " have hosts");
    std::map<std::int32_t, std::int32_t> host_of_cache;
    for (std::size_t p = 0; p < cache_of_.size(); ++p)
        if (host_of_cache.emplace(cache_of_[p], host_of_[p]).first->second != host_of_[p])
            refuse_topology("topology: position " + std::to_string(p) +
                            " shares a cache with a position of another host");
    if (known())
        hosts_ = *std::ranges::max_element(host_of_) + 1;
}

Topology Topology::parse(std::string_view text, Position ranks) {
    std::string_view rest = trimmed(text);
    const std::size_t slash = rest.find('/');
    std::optional<std::int32_t> size;
    if (slash != std::string_view::npos) {
        size = number_in(rest.substr(slash + 1), 1);
        if (!size)
            refuse_text(text, "a number of ranks belongs behind the /");
        rest = rest.substr(0, slash);
    }
    Numbers host_of;
    if (rest.starts_with(kMap)) {
        const auto given = list_in(rest.substr(kMap.size()), 0);
        if (!given)
            refuse_text(text, "behind map: belongs the number of each rank's host");
        host_of = *given;
    } else if (rest.starts_with(kCyclic)) {
        host_of = cyclic(sizes_in(text, rest.substr(kCyclic.size()), ranks, true));
    } else {
        host_of = blocked(sizes_in(text, rest, ranks, false));
    }
    if (ranks != 0 && host_of.size() != static_cast<std::size_t>(ranks))
        refuse_topology("hosts '" + shown(text) + "' have " + std::to_string(host_of.size()) +
                        " ranks, not " + std::to_string(ranks));
    return Topology(host_of, size ? caches(numbered_in_order(host_of), *size) : Numbers{});
}

Topology::Groups Topology::groups(Level level, Position ranks) const {
    const Numbers &group_of = level == Level::cache && !cache_of_.empty() ? cache_of_ : host_of_;
    if (!known()) {
        Groups all(1, std::vector<Position>(static_cast<std::size_t>(ranks)));
        std::iota(all.front().begin(), all.front().end(), 0);
        return all;
    }
    if (this->ranks() != ranks)
        refuse_topology("topology: it is for " + std::to_string(this->ranks()) +
                        " ranks, not for " + std::to_string(ranks));
    Groups groups(static_cast<std::size_t>(*std::ranges::max_element(group_of)) + 1);
    for (Position p = 0; p < ranks; ++p)
        groups[static_cast<std::size_t>(group_of[static_cast<std::size_t>(p)])].push_back(p);
    return groups;
}

Topology Topology::ordered(std::span<const Position> order) const {
    if (!known() || order.empty())
        return *this;
    Numbers host_of, cache_of;
    for (const Position p : order) {
        host_of.push_back(host_of_.at(static_cast<std::size_t>(p)));
        if (!cache_of_.empty())
            cache_of.push_back(cache_of_.at(static_cast<std::size_t>(p)));
    }
    return Topology(host_of, cache_of);
}

std::string Topology::text() const {
    if (!known())
        return "";
    Numbers sizes(static_cast<std::size_t>(hosts_), 0);
    for (const std::int32_t host : host_of_)
        ++sizes[static_cast<std::size_t>(host)];
    // A list with one entry would be read as a number of hosts.
    std::string found = host_of_ == blocked(sizes)  ? written(sizes)
                        : host_of_ == cyclic(sizes) ? std::string(kCyclic) + written(sizes)
                                                    : std::string(kMap) + joined(host_of_);
    if (cache_of_.empty())
        return found;
    const auto size = static_cast<std::int32_t>(std::ranges::count(cache_of_, cache_of_.front()));
    return cache_of_ == caches(host_of_, size) ? found + "/" + std::to_string(size) : found;
}

} // namespace stretto::schedule
