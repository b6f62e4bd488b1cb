// SPDX-License-Identifier: BSD-3-Clause
// An index of a queue: the items on short chains, each in the order of the queue.
//
// A search looks at one chain, which a key of the envelope selects (chains.hpp).  Items without the
// key, which are receives with a wildcard, are on a chain of their own: a search looks there too,
// as far as the items are older than the one it has found.  Searches without the key cannot use the
// index.
//
// A chain is a ring of single links, and its slot points to the newest item, whose `next` is the
// oldest.  So a slot is one pointer, and an item has one link:
//
//   slot -> 9        9.next = 2, 2.next = 5, 5.next = 9
#pragma once

#include <memory>

#include "p2p/matching/chains.hpp"

namespace stretto::p2p {

class MatchIndex {
public:
    // An item and what it takes to remove it.  Without an index, `slot` is null.
    struct Found {
        Item *item = nullptr;
        Item *previous = nullptr; // in its chain; of the oldest, the newest
        Item **slot = nullptr;
    };

    MatchIndex() = default;
    // If there is no memory for the chains, there is no index.
    MatchIndex(const Chains &chains, std::uint32_t most_orders) noexcept;

    explicit operator bool() const { return slots_ != nullptr; }
    const Chains &chains() const { return chains_; }
    std::size_t bytes() const { return chains_.count() * sizeof(Item *); }

    // Adds the newest item of a list; `oldest` begins that list.
    void append(Item &item, Item *oldest) {
        if (next_order_ < most_orders_) [[likely]]
            add(item);
        else
            add_all(oldest);
    }
    // Makes all chains anew.
    void add_all(Item *oldest);

    // Removes what search() has found, if nothing has changed since.
    static void remove(const Found &found) {
        found.previous->next = found.item->next;
        if (*found.slot == found.item)
            *found.slot = found.previous == found.item ? nullptr : found.previous;
    }
    // Removes an item of the list.  Gives the looks that it took to find it on its chain.
    std::uint32_t remove(Item &item);

    // The oldest item that fits; `key` has a key.  Adds to `looks`.
    template<class Fits>
    Found search(const Envelope &key, const Fits &fits_item, std::uint32_t &looks) {
        Found found = walk(slots_[chains_.of(key)], fits_item, looks);
        if (without_key_ != nullptr) {
            const std::uint32_t limit = found.item != nullptr ? found.item->order : UINT32_MAX;
            const Found other = walk(
                without_key_,
                [&](const Item &item) { return item.order > limit || fits_item(item); }, looks);
            if (other.item != nullptr && other.item->order < limit)
                found = other;
        }
        return found;
    }

private:
    template<class Stop>
    static Found walk(Item *&slot, const Stop &stop, std::uint32_t &looks) {
        Item *const newest = slot;
        if (newest == nullptr)
            return {};
        Item *previous = newest;
        do {
            Item *const item = previous->next;
            ++looks;
            if (stop(*item))
                return {item, previous, &slot};
            previous = item;
        } while (previous != newest);
        return {};
    }

    // The item becomes the newest of its chain.
    void add(Item &item) {
        item.order = next_order_++;
        Item *&newest = slot_of(item.envelope);
        if (newest == nullptr) {
            item.next = &item;
        } else {
            item.next = newest->next;
            newest->next = &item;
        }
        newest = &item;
    }

    Item *&slot_of(const Envelope &envelope) {
        return chains_.has_key(envelope) ? slots_[chains_.of(envelope)] : without_key_;
    }

    Chains chains_;
    std::unique_ptr<Item *[]> slots_; // the newest item of each chain, or null
    Item *without_key_ = nullptr;     // likewise
    std::uint32_t next_order_ = 0, most_orders_ = 0;
};

} // namespace stretto::p2p
