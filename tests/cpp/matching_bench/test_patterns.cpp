// SPDX-License-Identifier: BSD-3-Clause
// What each pattern promises: who sends, how long queues become, and that nothing is left over.
#include "doctest.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "matching/patterns.hpp"

using namespace stretto::matching;
using stretto::p2p::kAny;

namespace {

Sequence made(const std::string &pattern, int peers, int depth = 1, std::size_t matches = 1) {
    return make_sequence(pattern, {peers, depth, matches, 1});
}

std::size_t count(const Sequence &sequence, Kind kind) {
    return static_cast<std::size_t>(
        std::count_if(sequence.operations.begin(), sequence.operations.end(),
                      [&](const Operation &operation) { return operation.kind == kind; }));
}

// The operations of each round.  A round ends where nothing waits and the next operation has a
// number 0.
std::vector<std::vector<Operation>> rounds_of(const Sequence &sequence) {
    std::vector<std::vector<Operation>> rounds;
    std::set<Kind> begun;
    for (const Operation &operation : sequence.operations) {
        const bool first = operation.number == 0 && operation.kind != Kind::withdraw;
        if (rounds.empty() || (first && begun.count(operation.kind) != 0)) {
            rounds.emplace_back();
            begun.clear();
        }
        if (first)
            begun.insert(operation.kind);
        rounds.back().push_back(operation);
    }
    return rounds;
}

std::vector<Operation> first_round(const Sequence &sequence) {
    return rounds_of(sequence).front();
}

// Each message of a round is matched once, each receive is matched once or withdrawn.
void check_round(const std::vector<Operation> &round) {
    std::map<std::int32_t, int> receives, messages;
    for (const Operation &operation : round)
        switch (operation.kind) {
        case Kind::post:
            receives[operation.number] += operation.matches() ? 1 : 0;
            messages[operation.partner] += operation.matches() ? 1 : 0;
            break;
        case Kind::arrive:
            messages[operation.number] += operation.matches() ? 1 : 0;
            receives[operation.partner] += operation.matches() ? 1 : 0;
            break;
        case Kind::withdraw: ++receives[operation.number]; break;
        case Kind::find: break;
        }
    receives.erase(kNone);
    messages.erase(kNone);
    for (const auto &[number, times] : receives)
        REQUIRE(times == 1);
    for (const auto &[number, times] : messages)
        REQUIRE(times == 1);
}

} // namespace

TEST_CASE("every pattern matches each message once, with any number of peers") {
    for (const Pattern &pattern : patterns())
        for (const int peers : {1, 2, 3, 5, 8, 26, 27, 63, 100})
            for (const int depth : {1, 3}) {
                CAPTURE(pattern.name);
                CAPTURE(peers);
                CAPTURE(depth);
                const Sequence sequence = made(std::string(pattern.name), peers, depth, 300);
                CHECK(sequence.matches >= 300);
                CHECK(sequence.rounds >= 2);
                CHECK(sequence.matches == count(sequence, Kind::arrive));
                CHECK(count(sequence, Kind::post) ==
                      sequence.matches + count(sequence, Kind::withdraw));
                const auto rounds = rounds_of(sequence);
                CHECK(rounds.size() == sequence.rounds);
                for (const auto &round : rounds)
                    check_round(round);
                for (const Operation &operation : sequence.operations) {
                    REQUIRE(operation.envelope.source < peers);
                    if (operation.kind == Kind::arrive) {
                        REQUIRE(operation.envelope.source >= 0);
                        REQUIRE(operation.envelope.tag >= 0);
                    }
                }
            }
}

TEST_CASE("a round has a message of each peer, as many times as depth says") {
    for (const char *pattern :
         {"in-order", "reverse", "random", "one-tag", "any-source", "any-tag"}) {
        CAPTURE(pattern);
        const Sequence sequence = made(pattern, 7, 3);
        CHECK(sequence.matches == 2 * 21);
        CHECK(sequence.most_posted == 21);
        CHECK(sequence.most_unexpected == 0);
        std::map<int, int> of_source;
        for (const Operation &operation : first_round(sequence))
            if (operation.kind == Kind::arrive)
                ++of_source[operation.envelope.source];
        CHECK(of_source.size() == 7);
        for (const auto &[source, messages] : of_source)
            CHECK(messages == 3);
    }
}

TEST_CASE("in order, reverse and random differ in the partners of messages alone") {
    const auto partners = [](const char *pattern) {
        std::vector<std::int32_t> taken;
        for (const Operation &operation : first_round(made(pattern, 5)))
            if (operation.kind == Kind::arrive)
                taken.push_back(operation.partner);
        return taken;
    };
    CHECK(partners("in-order") == std::vector<std::int32_t>{0, 1, 2, 3, 4});
    CHECK(partners("reverse") == std::vector<std::int32_t>{4, 3, 2, 1, 0});
    auto random = partners("random");
    std::sort(random.begin(), random.end());
    CHECK(random == std::vector<std::int32_t>{0, 1, 2, 3, 4});
}

TEST_CASE("one tag: nothing but the source tells messages apart") {
    std::set<int> tags;
    for (const Operation &operation : made("one-tag", 9).operations)
        tags.insert(operation.envelope.tag);
    CHECK(tags == std::set<int>{0});
}

TEST_CASE("a hot tag: its receives stand before those that are matched first") {
    const Sequence sequence = made("hot-tag", 9, 2);
    CHECK(sequence.matches == 2 * (18 + 8));
    CHECK(sequence.most_posted == 18 + 8);
    std::vector<int> sources;
    for (const Operation &operation : first_round(sequence))
        if (operation.kind == Kind::arrive) {
            sources.push_back(operation.envelope.source);
            CHECK((operation.partner >= 18) == (operation.envelope.source != 0));
        }
    CHECK(std::count(sources.begin(), sources.begin() + 8, 0) == 0);
    CHECK(std::count(sources.begin() + 8, sources.end(), 0) == 18);
}

TEST_CASE("incast: some messages before their receives, some after") {
    const Sequence sequence = made("incast", 64, 2);
    CHECK(sequence.matches == 2 * 128);
    CHECK(sequence.most_unexpected > 32);
    CHECK(sequence.most_unexpected < 96);
    CHECK(sequence.most_posted > 32);
    CHECK(sequence.most_posted < 96);
    std::set<int> tags;
    for (const Operation &operation : sequence.operations)
        tags.insert(operation.envelope.tag);
    CHECK(tags == std::set<int>{0, 1}); // the two gathers
}

TEST_CASE("a flood: all messages wait, then receives are posted, after a probe for every eighth") {
    const Sequence sequence = made("flood", 20);
    CHECK(sequence.most_unexpected == 20);
    CHECK(sequence.most_posted == 0);
    CHECK(count(sequence, Kind::find) == 2 * 3);
    const auto round = first_round(sequence);
    for (std::size_t i = 0; i < round.size(); ++i) {
        CHECK((round[i].kind == Kind::arrive) == (i < 20));
        if (round[i].kind == Kind::find) {
            CHECK(round[i].partner != kNone);
            CHECK(round[i].partner == round[i + 1].partner);
        }
    }
}

TEST_CASE("growth and shrinkage: 1, 2, 4, ... peers, all, and back") {
    const Sequence sequence = made("grow-shrink", 11);
    CHECK(sequence.matches == 2 * (1 + 2 + 4 + 8 + 11 + 8 + 4 + 2 + 1));
    CHECK(sequence.most_posted == 11 + 1);
    CHECK(count(sequence, Kind::withdraw) == 2 * 9);
    CHECK(made("grow-shrink", 1).matches == 2);
    CHECK(made("grow-shrink", 8).matches == 2 * (7 + 8 + 7));
}

TEST_CASE("wildcards: any source, any tag, both") {
    const auto forms = [](const char *pattern) {
        std::map<std::pair<bool, bool>, int> found;
        for (const Operation &operation : first_round(made(pattern, 64)))
            if (operation.kind == Kind::post)
                ++found[{operation.envelope.source == kAny, operation.envelope.tag == kAny}];
        return found;
    };
    CHECK(forms("any-source")[{true, false}] == 16);
    CHECK(forms("any-source")[{false, false}] == 48);
    CHECK(forms("any-tag")[{false, true}] == 16);
    CHECK(forms("any-tag")[{false, false}] == 48);
    CHECK(forms("wildcards").size() == 4);
    std::set<std::uint32_t> contexts;
    for (const Operation &operation : made("wildcards", 64).operations)
        contexts.insert(operation.envelope.context);
    CHECK(contexts == std::set<std::uint32_t>{0, 1});
}

TEST_CASE("the neighbours of the middle of a block") {
    // 2 x 2 x 3 ranks, of which the middle is 7.
    CHECK(block_neighbours(11) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    CHECK(block_neighbours(1) == std::vector<int>{0});
    CHECK(block_neighbours(2) == std::vector<int>{0, 1});    // 1 x 1 x 3
    CHECK(block_neighbours(3) == std::vector<int>{0, 1, 2}); // 1 x 2 x 2
    CHECK(block_neighbours(7).size() == 7);                  // 2 x 2 x 2
    for (const int peers : {26, 63, 64, 100, 511, 512, 1000, 4095, 4096})
        CHECK(block_neighbours(peers).size() == 26);
    for (int peers = 1; peers <= 4096; ++peers) {
        const std::vector<int> found = block_neighbours(peers);
        REQUIRE(!found.empty());
        REQUIRE(std::adjacent_find(found.begin(), found.end(), std::greater_equal<>()) ==
                found.end()); // in order, none twice
        REQUIRE(found.front() >= 0);
        REQUIRE(found.back() < peers);
    }
    // 8 x 8 x 8: those around (4,4,4), and not the ones beyond.
    const std::vector<int> found = block_neighbours(511);
    CHECK(found.front() == 3 + 8 * (3 + 8 * 3));
    CHECK(found.back() == 5 + 8 * (5 + 8 * 5) - 1); // it stands behind the receiver
}

TEST_CASE("HPCG has one tag, and queues no longer than neighbours are many") {
    const Sequence sequence = made("hpcg", 511, 1, 1000);
    CHECK(sequence.matches == sequence.rounds * 26);
    CHECK(sequence.most_posted <= 26);
    CHECK(sequence.most_unexpected > 0);
    CHECK(sequence.most_unexpected < 26);
    CHECK(made("hpcg", 511, 4).matches == 2 * 26 * 4);
}

TEST_CASE("miniAMR has several messages for a neighbour, and other neighbours after a refinement") {
    const Sequence sequence = made("miniamr", 511, 1, 4000);
    std::vector<std::set<int>> sources;
    std::vector<std::size_t> sizes;
    for (const auto &round : rounds_of(sequence)) {
        sources.emplace_back();
        for (const Operation &operation : round)
            sources.back().insert(operation.envelope.source);
        sizes.push_back(round.size() / 2);
    }
    REQUIRE(sources.size() > 4);
    CHECK(sources[0].size() == 26);
    CHECK(sizes[0] > 26);
    CHECK(sizes[0] <= 26 * 16);
    CHECK(sources[0] == sources[1]);
    CHECK(sources[2] != sources[3]);
    CHECK(sizes[2] != sizes[3]);
}

TEST_CASE("a seed makes the same sequence again") {
    const auto partners = [](unsigned seed) {
        std::vector<std::int32_t> all;
        for (const Operation &operation : make_sequence("random", {50, 1, 1, seed}).operations)
            all.push_back(operation.partner);
        return all;
    };
    CHECK(partners(1) == partners(1));
    CHECK(partners(1) != partners(2));
}

TEST_CASE("a shape that does not exist is refused") {
    for (const Shape &shape :
         {Shape{0, 1, 1, 1}, Shape{4097, 1, 1, 1}, Shape{1, 0, 1, 1}, Shape{1, 65, 1, 1}})
        CHECK_THROWS_AS(make_sequence("random", shape), stretto::Error);
    CHECK_THROWS_AS(make_sequence("rand", Shape()), stretto::Error);
    CHECK(make_sequence("random", {4096, 1, 1, 1}).most_posted == 4096);
}
