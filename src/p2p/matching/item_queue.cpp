// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/matching/item_queue.hpp"

#include <tuple>
#include <utility>

namespace stretto::p2p {

namespace {

// The value that most of the items have, if it is more than half of them: it alone is left if each
// item cancels one with another value (Boyer and Moore, "MJRTY", 1981).
template<class Get>
std::pair<int, double> majority(const Item *oldest, const Get &get) {
    int candidate = kAny;
    std::uint32_t votes = 0;
    for (const Item *item = oldest; item != nullptr; item = item->after) {
        if (votes == 0)
            candidate = get(*item);
        get(*item) == candidate ? ++votes : --votes;
    }
    double having = 0, all = 0;
    for (const Item *item = oldest; item != nullptr; item = item->after, ++all)
        having += get(*item) == candidate ? 1 : 0;
    return {candidate, all == 0 ? 0 : having / all};
}

} // namespace

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
        index = MatchIndex(scheme, chains, most_orders_);
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
    window_.searches = searches_ - reviewed_searches_;
    window_.looks = looks_ - reviewed_looks_;
    if (adapts_ && adaptation_.review(window_, {first_, depth_}, index_))
        ++conversions_;
    note_filling();
    deepest_ = std::max<std::uint64_t>(deepest_, window_.deepest);
    reviewed_searches_ = searches_;
    reviewed_looks_ = looks_;
    review_at_ = searches_ + adaptation_.searches_until_review();
    plain_until_ = index_ ? 0 : review_at_;
    window_ = {};
    window_.deepest = depth_;
}

void ItemQueue::note_filling() {
    constexpr std::uint32_t kLongMessages = 64;
    // Anew only for a quarter more, so that a queue which grows is not counted all the time.
    if (depth_ < kLongMessages || depth_ <= filling_.depth + filling_.depth / 4)
        return;
    filling_.depth = depth_;
    filling_.context =
        static_cast<std::uint32_t>(majority(first_, [](const Item &item) {
                                       return static_cast<int>(item.envelope.context);
                                   }).first);
    std::tie(filling_.source, filling_.of_source) =
        majority(first_, [](const Item &item) { return item.envelope.source; });
    std::tie(filling_.tag, filling_.of_tag) =
        majority(first_, [](const Item &item) { return item.envelope.tag; });
}

QueueState ItemQueue::state() const {
    QueueState state;
    state.scheme = index_.scheme();
    state.chains = index_.chains();
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
