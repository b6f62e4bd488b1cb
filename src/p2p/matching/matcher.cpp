// SPDX-License-Identifier: BSD-3-Clause
// Both queues of a receiver.
#include <new>

#include "p2p/matching/item_queue.hpp"

namespace stretto::p2p {

namespace {

// Which messages a receive takes, and which receives take a message.
auto taken_by(const PostedReceive &receive) {
    return [&receive](const Item &item) { return fits(receive.envelope, item.envelope); };
}
auto taking(const ArrivedMessage &message) {
    return [&message](const Item &item) { return fits(item.envelope, message.envelope); };
}

class TwoQueues final : public Matcher {
public:
    explicit TwoQueues(const MatchingOptions &options)
        : posted_(options, Queue::posted), unexpected_(options, Queue::unexpected) {}

    bool begin_as(Scheme scheme, std::size_t chains) {
        return posted_.begin_as(scheme, chains) && unexpected_.begin_as(scheme, chains);
    }

    ArrivedMessage *post(PostedReceive &receive) override {
        return unexpected_.is_plain() ? post_plainly(receive) : post_anyhow(receive);
    }
    PostedReceive *arrive(ArrivedMessage &message) override {
        return posted_.is_plain() ? arrive_plainly(message) : arrive_anyhow(message);
    }

    ArrivedMessage *find(const Envelope &wanted) override {
        return static_cast<ArrivedMessage *>(unexpected_.find(
            wanted, [&](const Item &item) { return fits(wanted, item.envelope); }));
    }

    void withdraw(PostedReceive &receive) override { posted_.remove(receive); }
    PostedReceive *drain_receives() override {
        return static_cast<PostedReceive *>(posted_.take_oldest());
    }
    ArrivedMessage *drain_messages() override {
        return static_cast<ArrivedMessage *>(unexpected_.take_oldest());
    }

    bool convert(Queue queue, Scheme scheme, std::size_t chains) override {
        return (queue == Queue::posted ? posted_ : unexpected_).convert(scheme, chains);
    }
    QueueState state(Queue queue) const override {
        return (queue == Queue::posted ? posted_ : unexpected_).state();
    }
    std::size_t bytes() const override { return posted_.bytes() + unexpected_.bytes(); }

private:
    [[gnu::always_inline]] ArrivedMessage *post_plainly(PostedReceive &receive) {
        return give_or_append(receive,
                              unexpected_.take_plainly(receive.envelope, taken_by(receive)));
    }
    [[gnu::noinline]] ArrivedMessage *post_anyhow(PostedReceive &receive) {
        return give_or_append(receive, unexpected_.take(receive.envelope, taken_by(receive)));
    }
    ArrivedMessage *give_or_append(PostedReceive &receive, Item *message) {
        if (message == nullptr)
            posted_.append(receive);
        return static_cast<ArrivedMessage *>(message);
    }

    [[gnu::always_inline]] PostedReceive *arrive_plainly(ArrivedMessage &message) {
        return give_or_append(message, posted_.take_plainly(message.envelope, taking(message)));
    }
    [[gnu::noinline]] PostedReceive *arrive_anyhow(ArrivedMessage &message) {
        return give_or_append(message, posted_.take(message.envelope, taking(message)));
    }
    PostedReceive *give_or_append(ArrivedMessage &message, Item *receive) {
        if (receive == nullptr)
            unexpected_.append(message);
        return static_cast<PostedReceive *>(receive);
    }

    ItemQueue posted_, unexpected_;
};

} // namespace

std::string_view name(Scheme scheme) {
    switch (scheme) {
    case Scheme::list: return "list";
    case Scheme::bins: return "bins";
    case Scheme::by_source: return "by_source";
    case Scheme::hash: break;
    }
    return "hash";
}

Effort Matcher::effort() const {
    const Effort posted = state(Queue::posted).effort;
    const Effort unexpected = state(Queue::unexpected).effort;
    return {posted.searches + unexpected.searches, posted.looks + unexpected.looks,
            posted.conversions + unexpected.conversions,
            std::max(posted.deepest, unexpected.deepest)};
}

std::unique_ptr<Matcher> make_matcher(const MatchingOptions &options) {
    auto matcher = std::make_unique<TwoQueues>(options);
    if (!options.fixed)
        return matcher;
    const auto ranks = static_cast<std::size_t>(std::max(options.ranks, 1));
    std::size_t chains = options.bins != 0 ? options.bins : std::max<std::size_t>(ranks / 4, 1);
    if (*options.fixed == Scheme::by_source)
        chains = ranks;
    if (!matcher->begin_as(*options.fixed, chains))
        throw std::bad_alloc();
    return matcher;
}

} // namespace stretto::p2p
