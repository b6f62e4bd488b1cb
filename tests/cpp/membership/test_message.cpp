// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <random>
#include <string>
#include <vector>

#include "membership/message.hpp"

using namespace stretto;
using namespace stretto::membership;

namespace {

constexpr int kRanks = 70; // two words

View view(std::uint32_t epoch) {
    View view{epoch, RankSet::all(kRanks), 12};
    view.members.erase(69);
    return view;
}

// One of each kind, all fields different from zero.
std::vector<Message> messages() {
    const Ballot low{1, 0}, high{3, 69};
    return {
        {4, Beat{}},
        {4, Revoke{{Status::timeout, 3, 69, "rank 69 is silent"}}},
        {4, Prepare{high}},
        {4, Promise{high, 12, std::nullopt}},
        {4, Promise{high, 12, Vote{low, view(5)}}},
        {4, Refuse{high}},
        {4, Propose{{high, view(5)}}},
        {4, Accept{high}},
        {4, DecidedView{view(5)}},
        {4, Ask{7, "mine"}},
        {4, DecidedValue{7, std::string(kMostDecisionBytes, 's')}},
        {4, Ping{1}},
        {4, Pong{1, 2, 3}},
        {4, Offset{-5, 6}},
        {4, Offsets{2, 1, std::vector<std::int64_t>(kRanks, -9)}},
        {4, Where{8}},
        {4, Here{8, {1, 2, 3, 69, "allreduce"}}},
        {4, Bye{}},
        {4, Notice{7, -5}},
    };
}

std::string refusal(std::vector<std::byte> bytes) {
    const Parsed parsed = parse(bytes, kRanks);
    CHECK_FALSE(parsed.message);
    return std::string(parsed.error);
}

// What is written of a message that breaks a rule.
std::string refusal(const Body &body) {
    return refusal(write({4, body}));
}

} // namespace

TEST_CASE("a message is read as it was written") {
    for (const Message &message : messages()) {
        CAPTURE(message.body.index());
        const auto bytes = write(message);
        CHECK(bytes.size() <= most_bytes(kRanks));
        const Parsed parsed = parse(bytes, kRanks);
        CHECK(parsed.error == "");
        REQUIRE(parsed.message);
        CHECK(*parsed.message == message);
    }
}

TEST_CASE("nothing shorter or longer is a message") {
    for (const Message &message : messages()) {
        CAPTURE(message.body.index());
        auto bytes = write(message);
        for (std::size_t size = 0; size < bytes.size(); ++size)
            CHECK(refusal({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}) !=
                  "");
        bytes.push_back(std::byte{0});
        CHECK(refusal(bytes) == "bytes after the end of a message");
    }
}

TEST_CASE("what makes no sense is refused, each with its reason") {
    const Ballot ballot{1, 0};
    RankSet none(kRanks);
    CHECK(refusal(Prepare{{1, kRanks}}) == "a rank that does not exist");
    CHECK(refusal(Prepare{{1, -2}}) == "a rank that does not exist");
    CHECK(refusal(Prepare{{1, kNoRank}}) == "a ballot without owner or round");
    CHECK(refusal(Prepare{{kMostRounds + 1, 0}}) == "a ballot of a round that is too high");
    CHECK(refusal(Prepare{{0, 0}}) == "a ballot without owner or round");
    CHECK(refusal(Propose{{ballot, view(4)}}) == "a view of another epoch");
    CHECK(refusal(DecidedView{view(6)}) == "a view of another epoch");
    CHECK(refusal(DecidedView{{5, none, 0}}) == "a view without members");
    CHECK(refusal(DecidedView{{5, RankSet::of_words(kRanks, {1, 1U << 6}), 0}}) ==
          "a rank that does not exist");
    CHECK(refusal(Promise{ballot, 0, Vote{{2, 0}, view(5)}}) == "a vote of a later ballot");
    CHECK(refusal(Revoke{{Status::ok, 0, 0, ""}}) == "a status that is no error");
    CHECK(refusal(Revoke{{static_cast<Status>(static_cast<int>(kLastStatus) + 1), 0, 0, ""}}) ==
          "a status that is no error");
    CHECK(refusal(Revoke{{Status::peer, kNoRank, 0, ""}}) == "a reason without origin");
    CHECK(refusal(Offsets{1, kNoRank, std::vector<std::int64_t>(kRanks)}) ==
          "a table of clocks without reference");

    auto bytes = write({4, Beat{}});
    bytes[0] = std::byte{99};
    CHECK(refusal(bytes) == "a message of another version");
    bytes = write({4, Beat{}});
    bytes[1] = std::byte{std::variant_size_v<Body>};
    CHECK(refusal(bytes) == "a message of an unknown kind");
    bytes = write({4, Ask{7, "mine"}});
    bytes[16] = std::byte{0xff}; // the length of the text
    bytes[19] = std::byte{0xff};
    CHECK(refusal(bytes) == "a text that is too long");
}

TEST_CASE("a text that is too long is cut when it is written") {
    const std::string text(2 * kMostTextBytes, 't');
    const Parsed parsed = parse(write({0, Revoke{{Status::peer, 0, 1, text}}}), kRanks);
    REQUIRE(parsed.message);
    CHECK(std::get<Revoke>(parsed.message->body).reason.text == text.substr(0, kMostTextBytes));
}

TEST_CASE("whatever is accepted is written as it came") {
    std::mt19937 random(1);
    std::size_t accepted = 0;
    const auto all = messages();
    for (int i = 0; i < 200'000; ++i) {
        auto bytes = write(all[random() % all.size()]);
        for (unsigned flips = random() % 3; flips > 0; --flips)
            bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << random() % 8);
        if (const Parsed parsed = parse(bytes, kRanks); parsed.message) {
            ++accepted;
            REQUIRE(write(*parsed.message) == bytes);
        } else {
            REQUIRE(parsed.error != "");
        }
    }
    CHECK(accepted > 1000);
}

TEST_CASE("a set of ranks") {
    RankSet set(kRanks);
    CHECK(set.empty());
    CHECK(to_text(set) == "none");
    for (const int rank : {0, 1, 2, 5, 63, 64, 69})
        set.insert(rank);
    CHECK(to_text(set) == "0-2, 5, 63, 64, 69");
    CHECK(set.count() == 7);
    CHECK(set.next(5) == 63);
    CHECK(set.next(64) == 69);
    CHECK(set.next(69) == -1);
    CHECK_FALSE(set.has(-1));
    CHECK_FALSE(set.has(kRanks));
    std::vector<int> ranks;
    for (const int rank : set)
        ranks.push_back(rank);
    CHECK(ranks == std::vector<int>{0, 1, 2, 5, 63, 64, 69});
    CHECK((RankSet::all(kRanks) - set).count() == kRanks - 7);
    CHECK(set.within(RankSet::all(kRanks)));
    CHECK_FALSE(RankSet::all(kRanks).within(set));
}
