// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/matching/item_queue.hpp"

#include <utility>

namespace stretto::p2p {

void ItemQueue::remove(Item &item) {
    if (index_)
        index_.remove(item);
    unlink(item);
}

void ItemQueue::append_to_index(Item &item) {
    index_.append(item, first_);
}

bool ItemQueue::begin_as(Scheme scheme, std::size_t chains) {
    MatchIndex index;
    if (scheme != Scheme::list) {
        index = MatchIndex(Chains(scheme, chains), most_orders_);
        if (!index)
            return false;
        index.add_all(first_);
    }
    index_ = std::move(index);
    plain_until_ = index_ ? 0 : review_at_;
    return true;
}

bool ItemQueue::convert(Scheme scheme, std::size_t chains) {
    const bool done = begin_as(scheme, chains);
    conversions_ += done ? 1 : 0;
    return done;
}

void ItemQueue::review() {
    Items items(first_, depth_);
    window_.searches = searches_ - reviewed_searches_;
    window_.looks = looks_ - reviewed_looks_;
    const Scheme before = index_.chains().scheme();
    if (adapts_ && adaptation_.review(window_, items, index_)) {
        ++conversions_;
        if (converted_)
            converted_({which_, before, index_.chains().scheme(), depth_});
    }
    note_filling(items);
    deepest_ = std::max<std::uint64_t>(deepest_, window_.deepest);
    reviewed_searches_ = searches_;
    reviewed_looks_ = looks_;
    review_at_ = searches_ + adaptation_.searches_until_review();
    plain_until_ = index_ ? 0 : review_at_;
    window_ = {};
    window_.deepest = depth_;
}

void ItemQueue::review_at_next_search() {
    review_at_ = searches_;
    plain_until_ = 0;
}

void ItemQueue::note_filling(Items &items) {
    constexpr std::uint32_t kLongMessages = 64;
    // Anew only for a quarter more, so that a queue which grows is not counted all the time.
    if (depth_ >= kLongMessages && depth_ > filling_.depth + filling_.depth / 4)
        filling_ = items.sample().filling();
}

QueueState ItemQueue::state() const {
    QueueState state;
    state.scheme = index_.chains().scheme();
    state.chains = index_.chains().count();
    state.depth = depth_;
    state.effort = {searches_, looks_, conversions_,
                    std::max<std::uint64_t>(deepest_, window_.deepest)};
    state.filling = filling_;
    return state;
}

std::size_t ItemQueue::bytes() const {
    constexpr std::size_t kListBytes = sizeof(Item::before) + sizeof(Item::after);
    constexpr std::size_t kIndexBytes = sizeof(Item::order) + sizeof(Item::next);
    return depth_ * (kListBytes + (index_ ? kIndexBytes : 0)) + index_.bytes();
}

} // namespace stretto::p2p
