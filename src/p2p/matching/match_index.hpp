// SPDX-License-Identifier: BSD-3-Clause
// An index of a queue: the items on short chains, each in the order of the queue.
//
// A search looks at one chain, which a key of the envelope selects:
//
//   bins       the source, modulo the number of chains (Bayatpour et al., Cluster 2016)
//   by_source  the same with a chain for each source (Open MPI's ob1)
//   hash       context, source and tag (UCX)
//
// An item without the key, which is a receive with a wildcard, is on a chain of its own: a search
// looks there too, as far as the items are older than the one it has found.  Searches without the
// key cannot use the index.
//
// A chain is a ring of single links, and its slot points to the newest item, whose `next` is the
// oldest.  So a slot is one pointer, and an item has one link:
//
//   slot -> 9        9.next = 2, 2.next = 5, 5.next = 9
#pragma once

#include "base/mix.hpp"
#include "p2p/matching/match_queue.hpp"

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
    MatchIndex(Scheme scheme, std::size_t chains, std::uint32_t most_orders) noexcept;

    explicit operator bool() const { return slots_ != nullptr; }
    Scheme scheme() const { return scheme_; }
    std::size_t chains() const { return chains_; }
    std::size_t bytes() const { return chains_ * sizeof(Item *); }

    // Whether a search for this envelope can use the index.
    bool has_key(const Envelope &envelope) const {
        return envelope.source != kAny && (scheme_ != Scheme::hash || envelope.tag != kAny);
    }

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
    // Searches the item's chain for it.
    void remove(Item &item);

    // The oldest item that fits; `key` has a key.  Adds to `looks`.
    template<class Fits>
    Found search(const Envelope &key, const Fits &fits_item, std::uint32_t &looks) {
        Found found = walk(slots_[chain_of(key)], fits_item, looks);
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

    // The looks that a search for an item of the queue takes, in the mean over all items.
    double mean_looks() const;

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

    std::size_t chain_of(const Envelope &envelope) const {
        std::uint32_t key = static_cast<std::uint32_t>(envelope.source) * spread_;
        if (scheme_ == Scheme::hash)
            key = static_cast<std::uint32_t>(
                mix(std::uint64_t{static_cast<std::uint32_t>(envelope.source)} << 32 |
                        static_cast<std::uint32_t>(envelope.tag),
                    envelope.context));
        return (std::uint64_t{key} * chains_) >> 32;
    }
    Item *&slot_of(const Envelope &envelope) {
        return has_key(envelope) ? slots_[chain_of(envelope)] : without_key_;
    }

    Scheme scheme_ = Scheme::list;
    std::uint32_t chains_ = 0;
    // 2^32 / chains_, rounded up: (source * spread_ mod 2^32) * chains_ / 2^32 is the source modulo
    // chains_ if both are at most 65536, without a division (Lemire, Kaser and Kurz, "Faster
    // remainder by direct computation", 2019).
    std::uint32_t spread_ = 0;
    std::unique_ptr<Item *[]> slots_; // the newest item of each chain, or null
    Item *without_key_ = nullptr;     // likewise
    std::uint32_t next_order_ = 0, most_orders_ = 0;
};

} // namespace stretto::p2p
