// SPDX-License-Identifier: BSD-3-Clause
// Matching beside a model that is too simple to be wrong, with every scheme and with changes of the
// scheme at any time.
#include "doctest.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "p2p/matching/match_queue.hpp"
#include "support/beside_model.hpp"
#include "support/tier.hpp"

using namespace stretto::p2p;
using test::MatcherBesideModel;

namespace {

// Where the random operations come from.  Few contexts, sources and tags: much fits; many: queues
// grow long.
struct Keys {
    int contexts, sources, tags;
    int wild_percent;
};

struct Mix {
    Keys keys;
    int convert_percent; // of the operations come after a change of a scheme
    // Receives and messages in turns of so many, so that one queue grows, then the other.
    int turn;
};

int below(std::mt19937 &random, int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
}

void compare(const MatchingOptions &options, const Mix &mix, unsigned seed, int operations) {
    std::mt19937 random(seed);
    const auto percent = [&](int share) { return below(random, 100) < share; };
    const auto envelope = [&](bool receive) {
        const bool wild = receive && percent(mix.keys.wild_percent);
        const int which = wild ? 1 + below(random, 3) : 0; // bits: any source, any tag
        return Envelope{static_cast<std::uint32_t>(below(random, mix.keys.contexts)),
                        (which & 1) != 0 ? kAny : below(random, mix.keys.sources),
                        (which & 2) != 0 ? kAny : below(random, mix.keys.tags)};
    };
    MatcherBesideModel both(options);
    for (int i = 0; i < operations; ++i) {
        CAPTURE(i);
        if (percent(mix.convert_percent)) {
            const auto queue = static_cast<Matcher::Queue>(below(random, 2));
            const Scheme scheme = kSchemes[static_cast<std::size_t>(below(random, 4))];
            REQUIRE(both.convert(queue, scheme, static_cast<std::size_t>(1 + below(random, 40))));
        }
        const bool posts = i / mix.turn % 2 == 0;
        const int what = below(random, 100);
        bool same = true;
        if (what < 45)
            same = posts ? both.post(envelope(true)) : both.arrive(envelope(false));
        else if (what < 90)
            same = what % 2 == 0 ? both.post(envelope(true)) : both.arrive(envelope(false));
        else if (what < 95)
            same = both.find(envelope(true));
        else if (what < 99)
            same = both.withdraw(random());
        else
            same = both.take_oldest(static_cast<Matcher::Queue>(below(random, 2)));
        if (!same) // REQUIRE itself would take most of the time
            REQUIRE(same);
    }
    REQUIRE(both.drain());
}

std::vector<MatchingOptions> all_options() {
    std::vector<MatchingOptions> all;
    for (const Scheme scheme : kSchemes)
        for (const std::size_t bins : {0, 1, 7}) {
            MatchingOptions options;
            options.fixed = scheme;
            options.bins = bins;
            options.ranks = 20;
            all.push_back(options);
        }
    for (const std::uint32_t calls : {1u, 5u, 64u})
        for (const std::uint32_t attempts : {0u, 2u, 12u}) {
            MatchingOptions options;
            options.calls = calls;
            options.attempts = attempts;
            options.ranks = 20;
            all.push_back(options);
        }
    return all;
}

constexpr Mix kMixes[] = {
    {{1, 1, 1, 0}, 0, 50},     {{2, 3, 3, 25}, 0, 1},     {{1, 8, 20, 10}, 0, 300},
    {{3, 2, 100, 40}, 0, 200}, {{1, 20, 1, 5}, 0, 400},   {{2, 3, 3, 25}, 100, 20},
    {{1, 8, 20, 10}, 30, 300}, {{1, 20, 50, 2}, 10, 700},
};

} // namespace

// Full: ten million operations and more.
TEST_CASE("random operations of every scheme, and of queues that change it, match as the model's") {
    const int operations = test::full_tier() ? 30'000 : test::sampled() ? 400 : 4000;
    const unsigned seeds = test::full_tier() ? 2 : 1;
    for (MatchingOptions options : all_options()) {
        const std::string scheme =
            options.fixed ? std::string(name(*options.fixed)) : std::string("adaptive");
        CAPTURE(scheme);
        CAPTURE(options.bins);
        CAPTURE(options.calls);
        CAPTURE(options.attempts);
        for (const Mix &mix : kMixes)
            for (unsigned seed = 1; seed <= seeds; ++seed) {
                CAPTURE(seed);
                CAPTURE(&mix - kMixes);
                if (seed == 1) // items are numbered anew now and then
                    options.most_orders = 1000;
                else
                    options.most_orders = UINT32_MAX;
                compare(options, mix, seed, operations);
            }
    }
}

// One sequence of operations, with each change of a scheme before each of them.
TEST_CASE("a queue changes from any scheme to any other at any point of a sequence") {
    const int length = 60;
    for (const Scheme from : kSchemes)
        for (const Scheme to : kSchemes)
            for (const auto queue : {Matcher::Queue::posted, Matcher::Queue::unexpected})
                for (int at = 0; at < length; ++at) {
                    std::mt19937 random(7);
                    MatchingOptions options;
                    options.fixed = from;
                    options.ranks = 8;
                    MatcherBesideModel both(options);
                    for (int i = 0; i < length; ++i) {
                        if (i == at)
                            REQUIRE(both.convert(queue, to, 3));
                        Envelope envelope{0, below(random, 4), below(random, 4)};
                        if ((i / 10 % 2 == 0) == (below(random, 4) != 0)) {
                            REQUIRE(both.arrive(envelope));
                            continue;
                        }
                        if (below(random, 3) == 0)
                            envelope.source = kAny;
                        if (below(random, 3) == 0)
                            envelope.tag = kAny;
                        REQUIRE((i % 7 == 0 ? both.find(envelope) : both.post(envelope)));
                        if (i % 11 == 0)
                            REQUIRE(both.withdraw(random()));
                    }
                    REQUIRE(both.drain());
                }
}

TEST_CASE("a message goes to the receive posted first, wildcard or not") {
    for (const Scheme scheme : kSchemes) {
        MatchingOptions options;
        options.fixed = scheme;
        options.ranks = 16;
        const auto matcher = make_matcher(options);
        PostedReceive any, exact, any_source, same;
        any.envelope = {0, kAny, kAny};
        exact.envelope = same.envelope = {0, 3, 7};
        any_source.envelope = {0, kAny, 7};
        for (PostedReceive *receive : {&any, &exact, &any_source, &same})
            CHECK(matcher->post(*receive) == nullptr);
        ArrivedMessage other, message;
        other.envelope = {1, 3, 7}; // another context fits nothing
        message.envelope = {0, 3, 7};
        CHECK(matcher->arrive(other) == nullptr);
        CHECK(matcher->arrive(message) == &any);
        CHECK(matcher->arrive(message) == &exact);
        CHECK(matcher->arrive(message) == &any_source);
        CHECK(matcher->arrive(message) == &same);
        CHECK(matcher->find({0, kAny, kAny}) == nullptr);
        CHECK(matcher->find({1, kAny, 7}) == &other);
    }
}

TEST_CASE("searches and looks are counted") {
    MatchingOptions options;
    options.fixed = Scheme::list;
    const auto matcher = make_matcher(options);
    std::vector<ArrivedMessage> messages(10);
    for (int i = 0; i < 10; ++i) {
        messages[static_cast<std::size_t>(i)].envelope = {0, 0, i};
        matcher->arrive(messages[static_cast<std::size_t>(i)]);
    }
    CHECK(matcher->effort().looks == 0);
    CHECK(matcher->find({0, 0, 9}) != nullptr);
    CHECK(matcher->effort().searches == 11);
    CHECK(matcher->effort().looks == 10);
    CHECK(matcher->effort().deepest == 10);
    CHECK(matcher->effort().conversions == 0);
}
