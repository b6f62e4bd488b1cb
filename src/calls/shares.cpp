// SPDX-License-Identifier: BSD-3-Clause
#include "calls/shares.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/mix.hpp"

namespace stretto::calls {

void Shares::give(Request &request, std::span<const std::size_t> counts) {
    if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end()) {
        request.count = counts[0];
        return;
    }
    const Entry &entry = of(counts);
    request.count = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    request.root = static_cast<int>(mark(entry.hash));
    request.shares = entry.id;
}

const Shares::Entry &Shares::of(std::span<const std::size_t> counts) {
    if (last_ != nullptr &&
        std::equal(counts.begin(), counts.end(), last_->counts->begin(), last_->counts->end()))
        return *last_;
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> key(counts.begin(), counts.end());
    auto found = entries_.find(key);
    if (found == entries_.end()) {
        if (elements_ > kMostElements) {
            entries_.clear();
            elements_ = 0;
        }
        elements_ += key.size();
        std::uint64_t hash = key.size();
        for (const std::uint64_t count : key)
            hash = mix(hash, count);
        found = entries_.emplace(std::move(key), Entry{++ids_, hash, nullptr}).first;
        found->second.counts = &found->first;
    }
    last_ = &found->second;
    return *last_;
}

std::string Shares::words(std::uint32_t wanted) const {
    constexpr std::size_t kMostRanks = 32;
    const std::lock_guard lock(mutex_);
    for (const auto &[counts, entry] : entries_) {
        if (mark(entry.hash) != wanted)
            continue;
        std::string text;
        for (std::size_t r = 0; r < std::min(kMostRanks, counts.size()); ++r)
            text.append(r == 0 ? "" : " ").append(std::to_string(counts[r]));
        return text + (counts.size() > kMostRanks ? " ..." : "");
    }
    return "";
}

} // namespace stretto::calls
