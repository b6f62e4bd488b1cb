// SPDX-License-Identifier: BSD-3-Clause
// Two lists in order of posting and of arrival, searched from the oldest on.
#include "p2p/matching/match_queue.hpp"

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
    }

    void remove(Item &item) {
        (item.before == nullptr ? first_ : item.before->after) = item.after;
        (item.after == nullptr ? last_ : item.after->before) = item.before;
        item.before = item.after = nullptr;
    }

    template<class Fits>
    Item *search(Matcher::Effort &effort, const Fits &fits_item) const {
        ++effort.searches;
        for (Item *item = first_; item != nullptr; item = item->after) {
            ++effort.looks;
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

private:
    Item *first_ = nullptr, *last_ = nullptr;
    std::uint64_t next_ = 0;
};

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
            effort_, [&](const Item &item) { return fits(item.envelope, message.envelope); });
        if (receive != nullptr)
            receives_.remove(*receive);
        else
            messages_.append(message);
        return static_cast<PostedReceive *>(receive);
    }

    ArrivedMessage *find(const Envelope &wanted) override {
        return static_cast<ArrivedMessage *>(messages_.search(
            effort_, [&](const Item &item) { return fits(wanted, item.envelope); }));
    }

    void withdraw(PostedReceive &receive) override { receives_.remove(receive); }
    PostedReceive *drain_receives() override {
        return static_cast<PostedReceive *>(receives_.drain());
    }
    ArrivedMessage *drain_messages() override {
        return static_cast<ArrivedMessage *>(messages_.drain());
    }

private:
    List receives_, messages_;
};

} // namespace

std::unique_ptr<Matcher> make_list() {
    return std::make_unique<ListMatcher>();
}

} // namespace stretto::p2p
