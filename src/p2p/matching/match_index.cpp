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

std::uint32_t MatchIndex::remove(Item &item) {
    Item *&slot = slot_of(item.envelope);
    // The item before it on its chain is near the oldest one, or near the item itself in the list.
    // So receives that are withdrawn in the order of posting, or in the reverse order, are found at
    // once.
    Item *previous = slot, *before = item.before;
    std::uint32_t looks = 1;
    for (; previous->next != &item; ++looks) {
        if (before != nullptr && &slot_of(before->envelope) == &slot) {
            previous = before;
            break;
        }
        previous = previous->next;
        before = before == nullptr ? nullptr : before->before;
    }
    remove({&item, previous, &slot});
    return looks;
}

} // namespace stretto::p2p
