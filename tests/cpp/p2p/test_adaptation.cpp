// SPDX-License-Identifier: BSD-3-Clause
// Which scheme a queue adapts to, and that it goes back.
#include "doctest.h"

#include <memory>
#include <vector>

#include "p2p/matching/match_queue.hpp"
#include "support/scarce.hpp"

using namespace stretto::p2p;

namespace {

constexpr int kRanks = 512;

class Rounds {
public:
    explicit Rounds(std::uint32_t attempts = MatchingOptions().attempts) {
        MatchingOptions options;
        options.ranks = kRanks;
        options.attempts = attempts;
        matcher = make_matcher(options);
    }

    // Posts a receive for each, then messages take them from the last to the first.
    template<class Wanted, class Has>
    void posted(int depth, const Wanted &wanted, const Has &has) {
        std::vector<PostedReceive> receives(static_cast<std::size_t>(depth));
        for (int i = 0; i < depth; ++i) {
            receives[static_cast<std::size_t>(i)].envelope = wanted(i);
            REQUIRE(matcher->post(receives[static_cast<std::size_t>(i)]) == nullptr);
        }
        for (int i = depth; i-- > 0;) {
            ArrivedMessage message;
            message.envelope = has(i);
            REQUIRE(matcher->arrive(message) != nullptr);
        }
    }
    // Likewise, the messages are there first.
    template<class Wanted, class Has>
    void unexpected(int depth, const Wanted &wanted, const Has &has) {
        std::vector<ArrivedMessage> messages(static_cast<std::size_t>(depth));
        for (int i = 0; i < depth; ++i) {
            messages[static_cast<std::size_t>(i)].envelope = has(i);
            REQUIRE(matcher->arrive(messages[static_cast<std::size_t>(i)]) == nullptr);
        }
        for (int i = depth; i-- > 0;) {
            PostedReceive receive;
            receive.envelope = wanted(i);
            REQUIRE(matcher->post(receive) != nullptr);
        }
    }
    QueueState of(Matcher::Queue queue) const { return matcher->state(queue); }

    std::unique_ptr<Matcher> matcher;
};

constexpr auto kPosted = Matcher::Queue::posted;
constexpr auto kUnexpected = Matcher::Queue::unexpected;

Envelope tag_of_one_source(int i) {
    return {0, 3, i};
}
Envelope source_of_one_tag(int i) {
    return {0, i % kRanks, 5};
}
Envelope any_source(int i) {
    return {0, kAny, i};
}
Envelope any_tag(int i) {
    return {0, i % kRanks, kAny};
}

} // namespace

TEST_CASE("short queues remain lists, each queue for itself") {
    Rounds rounds;
    for (int round = 0; round < 200; ++round) {
        rounds.posted(8, tag_of_one_source, tag_of_one_source);
        rounds.unexpected(8, tag_of_one_source, tag_of_one_source);
    }
    CHECK(rounds.of(kPosted).scheme == Scheme::list);
    CHECK(rounds.of(kUnexpected).scheme == Scheme::list);
    CHECK(rounds.matcher->effort().conversions == 0);
    rounds.posted(1024, tag_of_one_source, tag_of_one_source);
    CHECK(rounds.of(kPosted).scheme == Scheme::hash);
    CHECK(rounds.of(kUnexpected).scheme == Scheme::list);
}

TEST_CASE("the keys that fill a queue decide on its index") {
    SUBCASE("one source") {
        Rounds rounds;
        rounds.posted(1024, tag_of_one_source, tag_of_one_source);
        rounds.unexpected(1024, tag_of_one_source, tag_of_one_source);
        CHECK(rounds.of(kPosted).scheme == Scheme::hash);
        CHECK(rounds.of(kUnexpected).scheme == Scheme::hash);
    }
    SUBCASE("one tag of all sources") {
        Rounds rounds;
        rounds.posted(kRanks, source_of_one_tag, source_of_one_tag);
        rounds.unexpected(kRanks, source_of_one_tag, source_of_one_tag);
        CHECK(rounds.of(kPosted).scheme == Scheme::by_source);
        CHECK(rounds.of(kUnexpected).scheme == Scheme::by_source);
    }
    SUBCASE("one tag of some sources: a chain for each source is too much memory") {
        Rounds rounds;
        rounds.posted(100, source_of_one_tag, source_of_one_tag);
        CHECK(rounds.of(kPosted).scheme == Scheme::bins);
    }
    SUBCASE("receives with any tag have no hash value") {
        Rounds rounds;
        rounds.posted(kRanks, any_tag, source_of_one_tag);
        rounds.unexpected(kRanks, any_tag, source_of_one_tag);
        CHECK(rounds.of(kPosted).scheme == Scheme::by_source);
        CHECK(rounds.of(kUnexpected).scheme == Scheme::by_source);
    }
    SUBCASE("receives from one source, all with one tag, before all others") {
        Rounds rounds;
        const auto hot = [](int i) {
            return i < 512 ? Envelope{0, 0, 0} : Envelope{0, i - 511, 0};
        };
        for (int round = 0; round < 3; ++round)
            rounds.posted(1023, hot, hot);
        CHECK(rounds.of(kPosted).scheme == Scheme::by_source);
        CHECK(rounds.of(kPosted).effort.conversions == 1);
    }
    SUBCASE("no index has receives with any source") {
        Rounds rounds;
        for (int round = 0; round < 3; ++round) {
            rounds.posted(256, any_source, tag_of_one_source);
            rounds.unexpected(256, any_source, tag_of_one_source);
        }
        CHECK(rounds.of(kPosted).scheme == Scheme::list);
        CHECK(rounds.of(kUnexpected).scheme == Scheme::list);
    }
    SUBCASE("another pattern comes") {
        Rounds rounds;
        rounds.posted(kRanks, source_of_one_tag, source_of_one_tag);
        REQUIRE(rounds.of(kPosted).scheme == Scheme::by_source);
        rounds.posted(1024, tag_of_one_source, tag_of_one_source);
        CHECK(rounds.of(kPosted).scheme == Scheme::hash);
        CHECK(rounds.of(kPosted).effort.conversions == 2);
    }
}

TEST_CASE("a long list is searched a few times before it gets an index") {
    Rounds rounds;
    rounds.posted(4096, tag_of_one_source, tag_of_one_source);
    CHECK(rounds.of(kPosted).effort.conversions == 1);
    CHECK(rounds.of(kPosted).effort.looks < 8 * 4096);
}

TEST_CASE("one long search makes no index, nor do many that no index can answer") {
    std::vector<ArrivedMessage> messages(1000);
    for (const bool many : {false, true}) {
        Rounds rounds;
        for (int i = 0; i < 1000; ++i) {
            messages[static_cast<std::size_t>(i)].envelope = tag_of_one_source(i);
            rounds.matcher->arrive(messages[static_cast<std::size_t>(i)]);
        }
        if (many)
            for (int i = 0; i < 500; ++i)
                CHECK(rounds.matcher->find(any_source(999)) == &messages[999]);
        else
            for (const int i : {999, 0, 0})
                CHECK(rounds.matcher->find(tag_of_one_source(i)) != nullptr);
        CHECK(rounds.of(kUnexpected).effort.conversions == 0);
    }
}

TEST_CASE("an index that was made for a short queue grows with it") {
    Rounds rounds;
    rounds.posted(100, source_of_one_tag, source_of_one_tag);
    REQUIRE(rounds.of(kPosted).scheme == Scheme::bins);
    for (int round = 0; round < 2; ++round)
        rounds.posted(kRanks, source_of_one_tag, source_of_one_tag);
    CHECK(rounds.of(kPosted).scheme == Scheme::by_source);
}

TEST_CASE("an index has no more pointers than quarter bins of both queues, and one for two items") {
    for (const auto &envelope : {tag_of_one_source, source_of_one_tag, any_tag})
        for (const int depth : {50, 100, 200, 512, 1024, 3000}) {
            CAPTURE(depth);
            Rounds rounds;
            for (int round = 0; round < 3; ++round)
                rounds.posted(depth, envelope, [&](int i) {
                    return Envelope{0, envelope(i).source,
                                    envelope(i).tag == kAny ? 1 : envelope(i).tag};
                });
            CHECK(rounds.of(kPosted).scheme != Scheme::list);
            CHECK(rounds.of(kPosted).chains <= (kRanks + 1) / 2 + (depth + 1) / 2);
        }
}

TEST_CASE("searches become short") {
    Rounds rounds;
    rounds.posted(4096, tag_of_one_source, tag_of_one_source);
    const Effort before = rounds.of(kPosted).effort;
    rounds.posted(4096, tag_of_one_source, tag_of_one_source);
    const Effort after = rounds.of(kPosted).effort;
    CHECK((after.looks - before.looks) < 8 * (after.searches - before.searches));
}

TEST_CASE("queues that stay short are lists again, later each time") {
    Rounds rounds;
    std::vector<int> needed;
    for (int cycle = 0; cycle < 3; ++cycle) {
        rounds.posted(1024, tag_of_one_source, tag_of_one_source);
        REQUIRE(rounds.of(kPosted).scheme == Scheme::hash);
        int searches = 0;
        for (; rounds.of(kPosted).scheme != Scheme::list && searches < 100'000; ++searches)
            rounds.posted(1, tag_of_one_source, tag_of_one_source);
        needed.push_back(searches);
    }
    // As many as the index was made of, so that it has paid.
    CHECK(needed[0] > 500);
    CHECK(needed[0] < 2 * 1024);
    CHECK(needed[1] > needed[0]);
    CHECK(needed[2] > needed[1]);
    CHECK(needed[2] < 100'000);
}

TEST_CASE("an index that is not used is left in the end; one of every other phase stays") {
    Rounds rounds;
    for (int round = 0; round < 10; ++round) {
        rounds.posted(1024, tag_of_one_source, tag_of_one_source);
        rounds.unexpected(1024, tag_of_one_source, tag_of_one_source);
    }
    CHECK(rounds.of(kPosted).effort.conversions == 1);
    CHECK(rounds.of(kUnexpected).effort.conversions == 1);
    for (int round = 0; round < 20; ++round)
        rounds.unexpected(1024, tag_of_one_source, tag_of_one_source);
    CHECK(rounds.of(kPosted).scheme == Scheme::list);
    CHECK(rounds.of(kUnexpected).scheme == Scheme::hash);
}

TEST_CASE("an empty queue and a list take no memory for an index") {
    Rounds rounds;
    CHECK(rounds.matcher->bytes() == 0);
    ArrivedMessage message;
    rounds.matcher->arrive(message);
    const std::size_t of_list = rounds.matcher->bytes();
    CHECK(of_list == 2 * sizeof(void *));
    REQUIRE(rounds.matcher->convert(kUnexpected, Scheme::bins, 128));
    CHECK(rounds.matcher->bytes() == of_list + (128 + 1) * sizeof(void *) + sizeof(Item::order));
    REQUIRE(rounds.matcher->convert(kUnexpected, Scheme::list, 1));
    CHECK(rounds.matcher->bytes() == of_list);
    CHECK(rounds.matcher->drain_messages() == &message);
}

TEST_CASE("a queue without memory for an index goes on as a list, and gets one later") {
    Rounds rounds;
    const int depth = 2000;
    std::vector<PostedReceive> receives(depth);
    for (int i = 0; i < depth; ++i) {
        receives[static_cast<std::size_t>(i)].envelope = tag_of_one_source(i);
        rounds.matcher->post(receives[static_cast<std::size_t>(i)]);
    }
    const auto take = [&](int i) {
        ArrivedMessage message;
        message.envelope = tag_of_one_source(i);
        CHECK(rounds.matcher->arrive(message) == &receives[static_cast<std::size_t>(i)]);
    };
    {
        const test::Scarce none(0);
        for (int i = depth; i-- > depth - 5;)
            take(i);
        CHECK(none.struck());
    }
    CHECK(rounds.of(kPosted).scheme == Scheme::list);
    CHECK(rounds.of(kPosted).effort.conversions == 0);
    for (int i = depth - 5; i-- > 0;)
        take(i);
    CHECK(rounds.of(kPosted).scheme == Scheme::hash);
}

TEST_CASE("what observes a queue learns of each conversion") {
    MatchingOptions options;
    options.ranks = kRanks;
    std::vector<Conversion> seen;
    options.converted = [&](const Conversion &conversion) { seen.push_back(conversion); };
    Rounds rounds;
    rounds.matcher = make_matcher(options);
    rounds.unexpected(1024, tag_of_one_source, tag_of_one_source);
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].queue == kUnexpected);
    CHECK(seen[0].from == Scheme::list);
    CHECK(seen[0].to == Scheme::hash);
    CHECK(seen[0].items > 1000);
}

TEST_CASE("a queue knows what filled it") {
    Rounds rounds;
    rounds.unexpected(32, tag_of_one_source, tag_of_one_source);
    CHECK(rounds.of(kUnexpected).filling.depth == 0); // never long
    for (int round = 0; round < 2; ++round)
        rounds.unexpected(1000, tag_of_one_source, tag_of_one_source);
    const Filling filling = rounds.of(kUnexpected).filling;
    CHECK(filling.depth > 900);
    CHECK(filling.source == 3);
    CHECK(filling.of_source == 1.0);
    CHECK(filling.of_tag < 0.01);
    CHECK(rounds.of(kUnexpected).effort.deepest == 1000);
}
