// SPDX-License-Identifier: BSD-3-Clause
// One queue of a receiver: a list in order, and an index of it if searches are long.
//
// The list has all items in every scheme.  So a queue changes its scheme by making the index from
// the list, or by leaving it out, and searches that the index cannot answer use the list.
#pragma once

#include "p2p/matching/adaptation.hpp"

namespace stretto::p2p {

class ItemQueue {
public:
    using Found = MatchIndex::Found;

    explicit ItemQueue(const MatchingOptions &options)
        : adapts_(!options.fixed), adaptation_(options), next_order_(options.first_order),
          review_at_(adaptation_.searches_until_review()) {}

    void append(Item &item) {
        if (next_order_ == UINT32_MAX) [[unlikely]]
            count_anew();
        item.order = next_order_++;
        item.before = last_;
        item.after = nullptr;
        (last_ == nullptr ? first_ : last_->after) = &item;
        last_ = &item;
        if (++depth_ > window_.deepest)
            window_.deepest = depth_;
        if (index_)
            index_.add(item);
    }

    // The oldest item that fits.  `key`: the envelope of what looks for an item.
    template<class Fits>
    Found search(const Envelope &key, const Fits &fits_item) {
        if (searches_++ == review_at_) [[unlikely]]
            review();
        if (first_ == nullptr)
            return {};
        return index_ ? search_index(key, fits_item) : search_list(key, fits_item);
    }

    // What search() has found just now.
    void remove(const Found &found) {
        if (found.slot != nullptr)
            MatchIndex::remove(found);
        else if (index_)
            index_.remove(*found.item);
        unlink(*found.item);
    }
    void remove(Item &item) { remove({&item, nullptr, nullptr}); }

    // Removes the oldest item; null: the queue is empty.
    Item *take_oldest() {
        Item *const item = first_;
        if (item != nullptr)
            remove(*item);
        return item;
    }

    // False, and nothing changes, if there is no memory.
    bool convert(Scheme scheme, std::size_t chains);
    // The same, not counted as a conversion.
    bool begin_as(Scheme scheme, std::size_t chains);

    QueueState state() const;
    std::size_t bytes() const;

private:
    template<class Fits>
    Found search_list(const Envelope &key, const Fits &fits_item) {
        std::uint32_t looks = 0;
        Item *item = first_;
        for (; item != nullptr; item = item->after) {
            ++looks;
            if (fits_item(*item))
                break;
        }
        looks_ += looks;
        if (looks > Adaptation::kShortLooks) [[unlikely]]
            note_kind(key);
        return {item, nullptr, nullptr};
    }

    template<class Fits>
    Found search_index(const Envelope &key, const Fits &fits_item) {
        Found found;
        if (index_.has_key(key)) {
            std::uint32_t looks = 0;
            found = index_.search(key, fits_item, looks);
            looks_ += looks;
            note_kind(key);
        } else {
            found = search_list(key, fits_item);
        }
        ++window_.indexed;
        window_.list_looks += found.item == first_ ? 1 : (depth_ + 1) / 2;
        return found;
    }

    void note_kind(const Envelope &key) {
        ++window_.kinds[key.source == kAny ? 2 : key.tag == kAny ? 1 : 0];
    }

    void unlink(Item &item) {
        (item.before == nullptr ? first_ : item.before->after) = item.after;
        (item.after == nullptr ? last_ : item.after->before) = item.before;
        --depth_;
    }

    void count_anew();
    void review();
    void note_filling();

    const bool adapts_;
    Adaptation adaptation_;
    Item *first_ = nullptr, *last_ = nullptr;
    std::uint32_t depth_ = 0;
    std::uint32_t next_order_;
    std::uint64_t searches_ = 0, looks_ = 0;
    std::uint64_t review_at_; // searches
    MatchIndex index_;
    Adaptation::Window window_;                                // since the last review
    std::uint64_t reviewed_searches_ = 0, reviewed_looks_ = 0; // until then
    std::uint64_t deepest_ = 0;                                // likewise
    std::uint64_t conversions_ = 0;
    Filling filling_;
};

} // namespace stretto::p2p
