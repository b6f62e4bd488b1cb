// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/matching/match_index.hpp"

#include <algorithm>
#include <new>

namespace stretto::p2p {

MatchIndex::MatchIndex(Scheme scheme, std::size_t chains, std::uint32_t most_orders) noexcept
    : scheme_(scheme), chains_(static_cast<std::uint32_t>(chains)),
      spread_(static_cast<std::uint32_t>(UINT32_MAX / chains + 1)),
      slots_(new (std::nothrow) Item *[chains]()), most_orders_(most_orders) {}

void MatchIndex::add_all(Item *oldest) {
    std::fill_n(slots_.get(), chains_, nullptr);
    without_key_ = nullptr;
    next_order_ = 0;
    for (Item *item = oldest; item != nullptr; item = item->after)
        add(*item);
}

void MatchIndex::remove(Item &item) {
    Item *&slot = slot_of(item.envelope);
    Item *previous = slot;
    while (previous->next != &item)
        previous = previous->next;
    remove({&item, previous, &slot});
}

double MatchIndex::mean_looks() const {
    // The items of a chain of n take 1, 2, ..., n looks; in the middle of them stand half of those
    // without a key.
    double looks = 0, items = 0;
    const auto count = [](const Item *newest) {
        double length = 0;
        if (const Item *item = newest; item != nullptr)
            do {
                ++length;
                item = item->next;
            } while (item != newest);
        return length;
    };
    for (std::uint32_t i = 0; i < chains_; ++i) {
        const double length = count(slots_[i]);
        looks += length * (length + 1) / 2;
        items += length;
    }
    const double wild = count(without_key_);
    looks += wild * (wild + 1) / 2 + items * wild / 2;
    items += wild;
    return items == 0 ? 0 : looks / items;
}

} // namespace stretto::p2p
