// SPDX-License-Identifier: BSD-3-Clause
// Matching against an oracle that is too simple to be wrong: two vectors in order, looked through
// from the front.
#include "doctest.h"

#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "p2p/matching/match_queue.hpp"

using namespace stretto::p2p;

namespace {

class Oracle {
public:
    // Index of what is taken, or -1.
    int post(int id, const Envelope &wanted) {
        const int taken = find(wanted);
        if (taken < 0)
            posted_.push_back({id, wanted});
        else
            std::erase_if(arrived_, [&](const Entry &entry) { return entry.id == taken; });
        return taken;
    }
    int arrive(int id, const Envelope &has) {
        for (std::size_t i = 0; i < posted_.size(); ++i)
            if (equal(posted_[i].envelope, has)) {
                const int taken = posted_[i].id;
                posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(i));
                return taken;
            }
        arrived_.push_back({id, has});
        return -1;
    }
    int find(const Envelope &wanted) const {
        for (const Entry &entry : arrived_)
            if (equal(wanted, entry.envelope))
                return entry.id;
        return -1;
    }
    // A receive that waits, or -1.
    int waiting(std::size_t choice) const {
        return posted_.empty() ? -1 : posted_[choice % posted_.size()].id;
    }
    void withdraw(int id) {
        std::erase_if(posted_, [&](const Entry &entry) { return entry.id == id; });
    }
    std::vector<int> left(bool receives) const {
        std::vector<int> ids;
        for (const Entry &entry : receives ? posted_ : arrived_)
            ids.push_back(entry.id);
        return ids;
    }

private:
    struct Entry {
        int id;
        Envelope envelope;
    };
    static bool equal(const Envelope &wanted, const Envelope &has) {
        if (wanted.context != has.context)
            return false;
        if (wanted.source >= 0 && wanted.source != has.source)
            return false;
        return wanted.tag < 0 || wanted.tag == has.tag;
    }
    std::vector<Entry> posted_, arrived_;
};

struct NumberedReceive : PostedReceive {
    int id = 0;
};
struct NumberedMessage : ArrivedMessage {
    int id = 0;
};

int id_of(const PostedReceive *receive) {
    return receive == nullptr ? -1 : static_cast<const NumberedReceive *>(receive)->id;
}
int id_of(const ArrivedMessage *message) {
    return message == nullptr ? -1 : static_cast<const NumberedMessage *>(message)->id;
}

// `contexts`, `sources` and `tags` small: much fits; large: queues grow long.
void compare(unsigned seed, int operations, int contexts, int sources, int tags) {
    std::mt19937 random(seed);
    const auto below = [&](int limit) {
        return static_cast<int>(random() % static_cast<unsigned>(limit));
    };
    const auto envelope = [&](bool wild) {
        return Envelope{static_cast<std::uint32_t>(below(contexts)),
                        wild && below(4) == 0 ? kAny : below(sources),
                        wild && below(4) == 0 ? kAny : below(tags)};
    };
    const std::unique_ptr<Matcher> matcher = make_matcher({});
    Oracle oracle;
    std::deque<NumberedReceive> receives;
    std::deque<NumberedMessage> messages;
    for (int i = 0; i < operations; ++i) {
        const int what = below(20);
        if (what < 9) {
            NumberedReceive &receive = receives.emplace_back();
            receive.id = static_cast<int>(receives.size()) - 1;
            receive.envelope = envelope(true);
            REQUIRE(id_of(matcher->post(receive)) == oracle.post(receive.id, receive.envelope));
        } else if (what < 18) {
            NumberedMessage &message = messages.emplace_back();
            message.id = static_cast<int>(messages.size()) - 1;
            message.envelope = envelope(false);
            REQUIRE(id_of(matcher->arrive(message)) == oracle.arrive(message.id, message.envelope));
        } else if (what == 18) {
            const Envelope wanted = envelope(true);
            REQUIRE(id_of(matcher->find(wanted)) == oracle.find(wanted));
        } else if (const int id = oracle.waiting(random()); id >= 0) {
            matcher->withdraw(receives[static_cast<std::size_t>(id)]);
            oracle.withdraw(id);
        }
    }
    for (const int id : oracle.left(true))
        REQUIRE(id_of(matcher->drain_receives()) == id);
    for (const int id : oracle.left(false))
        REQUIRE(id_of(matcher->drain_messages()) == id);
    CHECK(matcher->drain_receives() == nullptr);
    CHECK(matcher->drain_messages() == nullptr);
}

} // namespace

TEST_CASE("random receives and messages are matched as the oracle matches them") {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        compare(seed, 1500, 1, 1, 1);
        compare(seed, 1500, 2, 3, 3);
        compare(seed, 1500, 1, 8, 20);
        compare(seed, 1500, 3, 2, 100);
    }
}

TEST_CASE("a message goes to the receive posted first, wildcard or not") {
    const auto matcher = make_matcher({});
    NumberedReceive any, exact;
    any.id = 1;
    any.envelope = {0, kAny, kAny};
    exact.id = 2;
    exact.envelope = {0, 3, 7};
    CHECK(matcher->post(any) == nullptr);
    CHECK(matcher->post(exact) == nullptr);
    NumberedMessage other, message;
    other.envelope = {1, 3, 7}; // another context fits nothing
    message.envelope = {0, 3, 7};
    CHECK(matcher->arrive(other) == nullptr);
    CHECK(id_of(matcher->arrive(message)) == 1);
    CHECK(id_of(matcher->arrive(message)) == 2);
    CHECK(matcher->find({0, kAny, kAny}) == nullptr);
    CHECK(matcher->find({1, kAny, 7}) == &other);
}

TEST_CASE("looks are counted, so that a better implementation knows when it is due") {
    const auto matcher = make_matcher({});
    std::vector<NumberedMessage> messages(10);
    for (int i = 0; i < 10; ++i) {
        messages[static_cast<std::size_t>(i)].envelope = {0, 0, i};
        matcher->arrive(messages[static_cast<std::size_t>(i)]);
    }
    CHECK(matcher->effort().looks == 0);
    CHECK(matcher->find({0, 0, 9}) != nullptr);
    CHECK(matcher->effort().searches == 11);
    CHECK(matcher->effort().looks == 10);
}
