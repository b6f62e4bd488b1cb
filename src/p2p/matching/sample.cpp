// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/matching/sample.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace stretto::p2p {

namespace {

// How many items of a sample are on each chain.
class Counts {
public:
    // Gives how many there were before.
    std::uint32_t add(std::uint32_t chain) {
        std::size_t at = chain % kTableEntries;
        while (counts_[at] != 0 && chains_[at] != chain)
            at = (at + 1) % kTableEntries;
        chains_[at] = chain;
        return counts_[at]++;
    }

private:
    // More than twice as many as a sample has items.
    static constexpr std::size_t kTableEntries = 2048;
    std::array<std::uint32_t, kTableEntries> chains_; // where there is a count
    std::array<std::uint16_t, kTableEntries> counts_{};
};

// The value that most of the items have, if it is more than half of them, and the part of them that
// has it: it alone is left if each item cancels one with another value (Boyer and Moore, "MJRTY",
// 1981).
template<class Get>
std::pair<int, double> majority(std::span<const Envelope> items, const Get &get) {
    int candidate = kAny;
    std::uint32_t votes = 0;
    for (const Envelope &item : items) {
        if (votes == 0)
            candidate = get(item);
        get(item) == candidate ? ++votes : --votes;
    }
    const auto having = static_cast<double>(std::count_if(
        items.begin(), items.end(), [&](const Envelope &item) { return get(item) == candidate; }));
    return {candidate, items.empty() ? 0 : having / static_cast<double>(items.size())};
}

} // namespace

// Each item is in the sample with the same probability, whatever the others are: so neighbours in
// the queue, which often are alike, are in it together as often as any two others.
Sample::Sample(const Item *oldest, std::uint32_t count) : count_(count) {
    constexpr std::uint64_t kWantedEntries = kMostEntries * 2 / 3;
    const std::uint64_t below =
        count <= kMostEntries ? UINT64_MAX : UINT64_MAX / count * kWantedEntries;
    std::uint64_t place = 0;
    for (const Item *item = oldest; item != nullptr && size_ < kMostEntries; item = item->after)
        if (mix(place++, 0) <= below)
            envelopes_[size_++] = item->envelope;
}

// The looks beyond the first are pairs of items on one chain: the newer one of a pair takes one for
// the older one.  An item without a key is passed by half of the searches for items with one.
double Sample::mean_looks(const Chains &chains) const {
    Counts counts;
    double pairs = 0, without_key = 0;
    for (const Envelope &envelope : std::span(envelopes_).first(size_))
        if (chains.has_key(envelope))
            pairs += counts.add(static_cast<std::uint32_t>(chains.of(envelope)));
        else
            ++without_key;
    const auto size = static_cast<double>(size_);
    pairs += without_key * (without_key - 1) / 2 + (size - without_key) * without_key / 2;
    // Of all items there are more pairs by the square of what there are more items.
    return size_ < 2 ? 1 : 1 + pairs * (count_ - 1.0) / (size * (size - 1));
}

Filling Sample::filling() const {
    const auto items = std::span(envelopes_).first(size_);
    Filling filling;
    filling.depth = count_;
    filling.context = static_cast<std::uint32_t>(
        majority(items, [](const Envelope &item) { return static_cast<int>(item.context); }).first);
    std::tie(filling.source, filling.of_source) =
        majority(items, [](const Envelope &item) { return item.source; });
    std::tie(filling.tag, filling.of_tag) =
        majority(items, [](const Envelope &item) { return item.tag; });
    return filling;
}

} // namespace stretto::p2p
