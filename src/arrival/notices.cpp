// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/notices.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace stretto::arrival {

std::string to_text(const Deviations &deviations, std::size_t most_bytes) {
    std::vector<std::pair<int, std::int64_t>> sorted(deviations.begin(), deviations.end());
    std::ranges::stable_sort(sorted, std::ranges::greater(),
                             [](const auto &each) { return std::abs(each.second); });
    std::string text;
    for (const auto &[rank, later] : sorted) {
        std::string one = text.empty() ? "" : " ";
        one += std::to_string(rank) + ":" + std::to_string(later);
        if (text.size() + one.size() > most_bytes)
            break;
        text += one;
    }
    return text;
}

Deviations deviations_from(std::string_view text) {
    Deviations found;
    const char *at = text.data(), *const end = at + text.size();
    while (at != end) {
        int rank = -1;
        std::int64_t later = 0;
        const auto number = std::from_chars(at, end, rank);
        const bool colon = number.ec == std::errc() && number.ptr != end && *number.ptr == ':';
        const auto value = colon ? std::from_chars(number.ptr + 1, end, later) : number;
        if (!colon || rank < 0 || value.ec != std::errc() ||
            (value.ptr != end && (*value.ptr != ' ' || value.ptr + 1 == end)))
            throw Error(Status::internal,
                        "'" + std::string(text) + "' says nothing of ranks and their arrivals");
        found[rank] = later;
        at = value.ptr == end ? end : value.ptr + 1;
    }
    return found;
}

void Notices::add(std::uint64_t key, int rank, std::int64_t later) {
    const auto [at, is_new] = heard_.try_emplace(key);
    if (is_new) {
        at->second.since = next_++;
        if (heard_.size() > kMostCalls)
            heard_.erase(std::ranges::min_element(
                heard_, {}, [](const auto &each) { return each.second.since; }));
    }
    at->second.deviations[rank] = later;
}

Deviations Notices::take(std::uint64_t key) {
    const auto found = heard_.find(key);
    return found == heard_.end() ? Deviations{}
                                 : std::move(heard_.extract(found).mapped().deviations);
}

} // namespace stretto::arrival
