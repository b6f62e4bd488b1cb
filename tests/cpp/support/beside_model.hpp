// SPDX-License-Identifier: BSD-3-Clause
// A matcher beside the model of what MPI demands.  Each function does the same with both, and says
// whether both gave the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "p2p/matching/match_queue.hpp"
#include "p2p/matching/matching_model.hpp"

namespace test {

namespace p2p = stretto::p2p;

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
        const auto &posted = model_.posted();
        if (posted.empty())
            return true;
        const int id = posted[choice % posted.size()].number;
        model_.withdraw(id);
        matcher_->withdraw(receives_.items[static_cast<std::size_t>(id)]);
        receives_.put_back(id);
        return true;
    }
    bool convert(p2p::Matcher::Queue queue, p2p::Scheme scheme, std::size_t chains) {
        return matcher_->convert(queue, scheme, chains) && matcher_->state(queue).scheme == scheme;
    }
    bool take_oldest(p2p::Matcher::Queue queue) {
        if (queue == p2p::Matcher::Queue::posted)
            return gives(receives_, matcher_->drain_receives(), model_.take_oldest_receive());
        return gives(messages_, matcher_->drain_messages(), model_.take_oldest_message());
    }
    bool same_depths() const {
        return matcher_->state(p2p::Matcher::Queue::posted).depth == model_.posted().size() &&
               matcher_->state(p2p::Matcher::Queue::unexpected).depth == model_.arrived().size();
    }
    // Both are empty afterwards.
    bool drain() {
        bool same = same_depths();
        while (same && model_.posted().size() != 0)
            same = take_oldest(p2p::Matcher::Queue::posted);
        while (same && model_.arrived().size() != 0)
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
    p2p::MatchingModel model_;
    Pool<Receive> receives_;
    Pool<Message> messages_;
};

} // namespace test
