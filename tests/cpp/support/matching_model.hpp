// SPDX-License-Identifier: BSD-3-Clause
// A matcher beside a model that is too simple to be wrong: two vectors in order, looked through
// from the front.  Each function does the same with both, and says whether both gave the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "p2p/matching/match_queue.hpp"

namespace test {

namespace p2p = stretto::p2p;

class MatchingModel {
public:
    // Index of the message that the receive takes, or -1.
    int post(int id, const p2p::Envelope &wanted) {
        const std::size_t at = position(wanted);
        if (at == arrived_.size()) {
            posted_.push_back({id, wanted});
            return -1;
        }
        return remove(arrived_, at);
    }
    int arrive(int id, const p2p::Envelope &has) {
        for (std::size_t i = 0; i < posted_.size(); ++i)
            if (equal(posted_[i].envelope, has))
                return remove(posted_, i);
        arrived_.push_back({id, has});
        return -1;
    }
    int find(const p2p::Envelope &wanted) const {
        const std::size_t at = position(wanted);
        return at == arrived_.size() ? -1 : arrived_[at].id;
    }
    // Removes a receive that waits; -1: none does.
    int withdraw(std::size_t choice) {
        return posted_.empty() ? -1 : remove(posted_, choice % posted_.size());
    }
    int oldest_receive() { return posted_.empty() ? -1 : remove(posted_, 0); }
    int oldest_message() { return arrived_.empty() ? -1 : remove(arrived_, 0); }
    std::size_t receives() const { return posted_.size(); }
    std::size_t messages() const { return arrived_.size(); }

private:
    struct Entry {
        int id;
        p2p::Envelope envelope;
    };
    static bool equal(const p2p::Envelope &wanted, const p2p::Envelope &has) {
        if (wanted.context != has.context)
            return false;
        if (wanted.source >= 0 && wanted.source != has.source)
            return false;
        return wanted.tag < 0 || wanted.tag == has.tag;
    }
    std::size_t position(const p2p::Envelope &wanted) const {
        std::size_t i = 0;
        while (i < arrived_.size() && !equal(wanted, arrived_[i].envelope))
            ++i;
        return i;
    }
    static int remove(std::vector<Entry> &entries, std::size_t at) {
        const int id = entries[at].id;
        entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
        return id;
    }
    std::vector<Entry> posted_, arrived_;
};

class MatcherBesideModel {
public:
    explicit MatcherBesideModel(const p2p::MatchingOptions &options)
        : matcher_(p2p::make_matcher(options)) {}

    bool post(const p2p::Envelope &wanted) {
        Receive &receive = receives_.take(wanted);
        const p2p::ArrivedMessage *message = matcher_->post(receive);
        const int expected = model_.post(receive.id, wanted);
        if (message != nullptr)
            receives_.put_back(receive.id);
        return gives(messages_, message, expected);
    }
    bool arrive(const p2p::Envelope &has) {
        Message &message = messages_.take(has);
        const p2p::PostedReceive *receive = matcher_->arrive(message);
        const int expected = model_.arrive(message.id, has);
        if (receive != nullptr)
            messages_.put_back(message.id);
        return gives(receives_, receive, expected);
    }
    bool find(const p2p::Envelope &wanted) {
        return id_of(matcher_->find(wanted)) == model_.find(wanted);
    }
    bool withdraw(std::size_t choice) {
        const int id = model_.withdraw(choice);
        if (id >= 0) {
            matcher_->withdraw(receives_.items[static_cast<std::size_t>(id)]);
            receives_.put_back(id);
        }
        return true;
    }
    bool convert(p2p::Matcher::Queue queue, p2p::Scheme scheme, std::size_t chains) {
        return matcher_->convert(queue, scheme, chains) && matcher_->state(queue).scheme == scheme;
    }
    bool take_oldest(p2p::Matcher::Queue queue) {
        if (queue == p2p::Matcher::Queue::posted)
            return gives(receives_, matcher_->drain_receives(), model_.oldest_receive());
        return gives(messages_, matcher_->drain_messages(), model_.oldest_message());
    }
    bool same_depths() const {
        return matcher_->state(p2p::Matcher::Queue::posted).depth == model_.receives() &&
               matcher_->state(p2p::Matcher::Queue::unexpected).depth == model_.messages();
    }
    // Both are empty afterwards.
    bool drain() {
        bool same = same_depths();
        while (same && model_.receives() != 0)
            same = take_oldest(p2p::Matcher::Queue::posted);
        while (same && model_.messages() != 0)
            same = take_oldest(p2p::Matcher::Queue::unexpected);
        return same && matcher_->drain_receives() == nullptr &&
               matcher_->drain_messages() == nullptr;
    }
    const p2p::Matcher &matcher() const { return *matcher_; }

private:
    struct Receive : p2p::PostedReceive {
        int id = 0;
    };
    struct Message : p2p::ArrivedMessage {
        int id = 0;
    };
    // Items that do not wait are used again.
    template<class Of>
    struct Pool {
        Of &take(const p2p::Envelope &envelope) {
            if (idle.empty()) {
                idle.push_back(static_cast<int>(items.size()));
                items.emplace_back().id = idle.back();
            }
            Of &item = items[static_cast<std::size_t>(idle.back())];
            idle.pop_back();
            item.envelope = envelope;
            return item;
        }
        void put_back(int id) { idle.push_back(id); }
        std::deque<Of> items;
        std::vector<int> idle;
    };
    static int id_of(const p2p::PostedReceive *receive) {
        return receive == nullptr ? -1 : static_cast<const Receive *>(receive)->id;
    }
    static int id_of(const p2p::ArrivedMessage *message) {
        return message == nullptr ? -1 : static_cast<const Message *>(message)->id;
    }
    // Whether this item was to be given; it waits no more.
    template<class Of, class Given>
    static bool gives(Pool<Of> &pool, const Given *given, int expected) {
        if (given != nullptr)
            pool.put_back(id_of(given));
        return id_of(given) == expected;
    }

    std::unique_ptr<p2p::Matcher> matcher_;
    MatchingModel model_;
    Pool<Receive> receives_;
    Pool<Message> messages_;
};

} // namespace test
