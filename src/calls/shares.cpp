// SPDX-License-Identifier: BSD-3-Clause
#include "calls/shares.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/mix.hpp"

namespace stretto::calls {

void Shares::give(Request &request, std::span<const std::size_t> counts) {
    if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end()) {
        request.count = counts[0];
        return;
    }
    const std::vector<std::uint64_t> wanted(counts.begin(), counts.end());
    request.shares = of(wanted);
    request.count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    request.root = static_cast<int>(mark(request.shares->hash));
}

Shares::Pointer Shares::of(Counts counts) {
    const std::lock_guard lock(mutex_);
    if (const auto found = entries_.find(counts); found != entries_.end())
        return *found;
    if (elements_ > kMostElements) {
        entries_.clear();
        elements_ = 0;
    }
    elements_ += counts.size();
    std::uint64_t hash = counts.size();
    for (const std::uint64_t count : counts)
        hash = mix(hash, count);
    return *entries_
                .insert(std::make_shared<const RankCounts>(
                    RankCounts{++ids_, hash, {counts.begin(), counts.end()}}))
                .first;
}

std::string Shares::words(std::uint32_t wanted) const {
    constexpr std::size_t kMostRanks = 32;
    const std::lock_guard lock(mutex_);
    for (const Pointer &entry : entries_) {
        const std::vector<std::uint64_t> &counts = entry->counts;
        if (mark(entry->hash) != wanted)
            continue;
        std::string text;
        for (std::size_t r = 0; r < std::min(kMostRanks, counts.size()); ++r)
            text.append(r == 0 ? "" : " ").append(std::to_string(counts[r]));
        return text + (counts.size() > kMostRanks ? " ..." : "");
    }
    return "";
}

} // namespace stretto::calls
