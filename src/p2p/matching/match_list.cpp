// SPDX-License-Identifier: BSD-3-Clause
// Two lists in order of posting and of arrival, searched from the oldest on.
#include "p2p/matching/match_queue.hpp"

#include <algorithm>

namespace stretto::p2p {

namespace {

class List {
public:
    void append(Item &item) {
        item.order = next_++;
        item.before = last_;
        item.after = nullptr;
        (last_ == nullptr ? first_ : last_->after) = &item;
        last_ = &item;
        effort_.deepest = std::max(effort_.deepest, ++depth_);
    }

    void remove(Item &item) {
        (item.before == nullptr ? first_ : item.before->after) = item.after;
        (item.after == nullptr ? last_ : item.after->before) = item.before;
        item.before = item.after = nullptr;
        --depth_;
    }

    template<class Fits>
    Item *search(const Fits &fits_item) {
        ++effort_.searches;
        for (Item *item = first_; item != nullptr; item = item->after) {
            ++effort_.looks;
            if (fits_item(*item))
                return item;
        }
        return nullptr;
    }

    Item *drain() {
        Item *item = first_;
        if (item != nullptr)
            remove(*item);
        return item;
    }

    QueueState state() const {
        QueueState state;
        state.depth = depth_;
        state.effort = effort_;
        return state;
    }

private:
    Item *first_ = nullptr, *last_ = nullptr;
    std::uint32_t next_ = 0;
    std::uint64_t depth_ = 0;
    Effort effort_;
};

// Of an item: `order`, `before` and `after`.
constexpr std::size_t kLinkBytes = sizeof(std::uint32_t) + 2 * sizeof(Item *);

class ListMatcher final : public Matcher {
public:
    ArrivedMessage *post(PostedReceive &receive) override {
        ArrivedMessage *message = find(receive.envelope);
        if (message != nullptr)
            messages_.remove(*message);
        else
            receives_.append(receive);
        return message;
    }

    PostedReceive *arrive(ArrivedMessage &message) override {
        Item *receive = receives_.search(
            [&](const Item &item) { return fits(item.envelope, message.envelope); });
        if (receive != nullptr)
            receives_.remove(*receive);
        else
            messages_.append(message);
        return static_cast<PostedReceive *>(receive);
    }

    ArrivedMessage *find(const Envelope &wanted) override {
        return static_cast<ArrivedMessage *>(messages_.search(
            [&](const Item &item) { return fits(wanted, item.envelope); }));
    }

    void withdraw(PostedReceive &receive) override { receives_.remove(receive); }
    PostedReceive *drain_receives() override {
        return static_cast<PostedReceive *>(receives_.drain());
    }
    ArrivedMessage *drain_messages() override {
        return static_cast<ArrivedMessage *>(messages_.drain());
    }
    bool convert(Queue, Scheme scheme, std::size_t) override { return scheme == Scheme::list; }
    QueueState state(Queue queue) const override {
        return (queue == Queue::posted ? receives_ : messages_).state();
    }
    std::size_t bytes() const override {
        return (receives_.state().depth + messages_.state().depth) * kLinkBytes;
    }

private:
    List receives_, messages_;
};

} // namespace

std::string_view name(Scheme scheme) {
    constexpr std::array<std::string_view, kSchemes.size()> kNames{"list", "bins", "by_source",
                                                                   "hash"};
    return kNames[static_cast<std::size_t>(scheme)];
}

Effort Matcher::effort() const {
    const Effort posted = state(Queue::posted).effort;
    const Effort unexpected = state(Queue::unexpected).effort;
    return {posted.searches + unexpected.searches, posted.looks + unexpected.looks,
            posted.conversions + unexpected.conversions,
            std::max(posted.deepest, unexpected.deepest)};
}

std::unique_ptr<Matcher> make_matcher(const MatchingOptions &) {
    return std::make_unique<ListMatcher>();
}

} // namespace stretto::p2p
