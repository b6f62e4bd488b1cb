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
    ItemQueue(const MatchingOptions &options, Matcher::Queue which)
        : which_(which), adapts_(!options.fixed), most_orders_(options.most_orders),
          converted_(options.converted), adaptation_(options),
          review_at_(adaptation_.searches_until_review()) {
        plain_until_ = review_at_;
    }

    void append(Item &item) {
        item.before = last_;
        item.after = nullptr;
        (last_ == nullptr ? first_ : last_->after) = &item;
        last_ = &item;
        if (++depth_ > window_.deepest)
            window_.deepest = depth_;
        if (index_) [[unlikely]]
            append_to_index(item);
    }

    // The oldest item that fits; null: none does.  `key`: the envelope of what looks for it.
    template<class Fits>
    Item *find(const Envelope &key, const Fits &fits_item) {
        begin_search();
        if (first_ == nullptr)
            return nullptr;
        return index_ ? find_indexed(key, fits_item).item : find_listed(key, fits_item);
    }
    // The same, and removes it.
    template<class Fits>
    Item *take(const Envelope &key, const Fits &fits_item) {
        begin_search();
        if (first_ == nullptr)
            return nullptr;
        if (!index_)
            return take_listed(key, fits_item);
        const Found found = find_indexed(key, fits_item);
        if (found.slot != nullptr) {
            MatchIndex::remove(found);
            unlink(*found.item);
        } else if (found.item != nullptr) {
            remove(*found.item);
        }
        return found.item;
    }

    // Most queues are short lists: for them alone, a few instructions do.  True: the queue is a
    // list, and no review is due.
    bool is_plain() const { return searches_ < plain_until_; }
    // The same as take(), of such a queue.
    template<class Fits>
    Item *take_plainly(const Envelope &key, const Fits &fits_item) {
        ++searches_;
        return first_ == nullptr ? nullptr : take_listed(key, fits_item);
    }

    void remove(Item &item);

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
    using Found = MatchIndex::Found;

    void begin_search() {
        if (searches_++ == review_at_) [[unlikely]]
            review();
    }

    template<class Fits>
    Item *find_listed(const Envelope &key, const Fits &fits_item) {
        std::uint32_t looks = 0;
        Item *item = first_;
        do {
            ++looks;
            if (fits_item(*item))
                break;
            item = item->after;
        } while (item != nullptr);
        looks_ += looks;
        if (looks > Adaptation::kShortLooks) [[unlikely]] {
            note_kind(key);
            note_long();
        }
        return item;
    }

    template<class Fits>
    Found find_indexed(const Envelope &key, const Fits &fits_item) {
        Found found;
        if (index_.chains().has_key(key)) {
            std::uint32_t looks = 0;
            found = index_.search(key, fits_item, looks);
            looks_ += looks;
            note_kind(key);
            if (looks > Adaptation::kShortLooks) [[unlikely]]
                note_long();
        } else {
            found.item = find_listed(key, fits_item);
        }
        ++window_.indexed;
        window_.list_looks += found.item == first_ ? 1 : (depth_ + 1) / 2;
        return found;
    }

    template<class Fits>
    Item *take_listed(const Envelope &key, const Fits &fits_item) {
        Item *const item = find_listed(key, fits_item);
        if (item != nullptr)
            unlink(*item);
        return item;
    }

    void note_kind(const Envelope &key) {
        ++window_.kinds[key.source == kAny ? 2 : key.tag == kAny ? 1 : 0];
    }

    // After a search of many looks.
    void note_long() {
        if (adaptation_.is_due(looks_ - reviewed_looks_, window_.deepest)) [[unlikely]]
            review_at_next_search();
    }

    void unlink(Item &item) {
        (item.before == nullptr ? first_ : item.before->after) = item.after;
        (item.after == nullptr ? last_ : item.after->before) = item.before;
        --depth_;
    }

    void append_to_index(Item &item);
    void review();
    void review_at_next_search();
    void note_filling(Items &items);

    // What each search needs stands together.
    Item *first_ = nullptr, *last_ = nullptr;
    std::uint64_t searches_ = 0, looks_ = 0;
    std::uint64_t plain_until_; // searches; 0: there is an index
    std::uint32_t depth_ = 0;
    MatchIndex index_;
    const Matcher::Queue which_;
    const bool adapts_;
    const std::uint32_t most_orders_;
    const std::function<void(const Conversion &)> converted_;
    Adaptation::Window window_; // since the last review
    Adaptation adaptation_;
    std::uint64_t review_at_;                                  // searches
    std::uint64_t reviewed_searches_ = 0, reviewed_looks_ = 0; // at the last review
    std::uint64_t deepest_ = 0;                                // before it
    std::uint64_t conversions_ = 0;
    Filling filling_;
};

} // namespace stretto::p2p
