// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/matching/match_index.hpp"

#include <algorithm>
#include <new>

namespace stretto::p2p {

MatchIndex::MatchIndex(const Chains &chains, std::uint32_t most_orders) noexcept
    : chains_(chains), slots_(new (std::nothrow) Item *[chains.count()]()),
      most_orders_(most_orders) {}

void MatchIndex::add_all(Item *oldest) {
    std::fill_n(slots_.get(), chains_.count(), nullptr);
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

} // namespace stretto::p2p
