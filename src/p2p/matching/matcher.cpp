// SPDX-License-Identifier: BSD-3-Clause
// Both queues of a receiver.
#include <new>

#include "p2p/matching/item_queue.hpp"

namespace stretto::p2p {

namespace {

class TwoQueues final : public Matcher {
public:
    explicit TwoQueues(const MatchingOptions &options) : posted_(options), unexpected_(options) {}

    bool begin_as(Scheme scheme, std::size_t chains) {
        return posted_.begin_as(scheme, chains) && unexpected_.begin_as(scheme, chains);
    }

    ArrivedMessage *post(PostedReceive &receive) override {
        const ItemQueue::Found found = search_messages(receive.envelope);
        if (found.item != nullptr)
            unexpected_.remove(found);
        else
            posted_.append(receive);
        return static_cast<ArrivedMessage *>(found.item);
    }

    PostedReceive *arrive(ArrivedMessage &message) override {
        const ItemQueue::Found found = posted_.search(message.envelope, [&](const Item &receive) {
            return fits(receive.envelope, message.envelope);
        });
        if (found.item != nullptr)
            posted_.remove(found);
        else
            unexpected_.append(message);
        return static_cast<PostedReceive *>(found.item);
    }

    ArrivedMessage *find(const Envelope &wanted) override {
        return static_cast<ArrivedMessage *>(search_messages(wanted).item);
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
    ItemQueue::Found search_messages(const Envelope &wanted) {
        return unexpected_.search(
            wanted, [&](const Item &message) { return fits(wanted, message.envelope); });
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
