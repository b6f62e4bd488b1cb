// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <algorithm>
#include <random>
#include <vector>

#include "membership/suspicions.hpp"

using namespace stretto::membership;

namespace {

std::string left(int ranks, const std::vector<Accusation> &accusations) {
    Suspicions suspicions(RankSet::all(ranks));
    for (const Accusation each : accusations)
        CHECK(suspicions.add(each));
    return to_text(suspicions.left());
}

} // namespace

TEST_CASE("who goes and who stays") {
    CHECK(left(4, {}) == "0-3");
    CHECK(left(4, {{0, 1}}) == "0, 2, 3");
    CHECK(left(4, {{2, 1}, {0, 1}}) == "0, 2, 3");
    // One link is cut: one of its ends goes.
    CHECK(left(6, {{2, 5}, {5, 2}}) == "0-4");
    // Who finds several dead is not to be doubted for that.
    CHECK(left(8, {{0, 4}, {0, 5}, {0, 6}, {0, 7}}) == "0-3");
    // Who was cut off and comes back accuses those who accuse it.
    CHECK(left(5, {{3, 0}, {3, 1}, {0, 3}}) == "0-2, 4");
    // A rank that accused another and then died itself.
    CHECK(left(4, {{0, 2}, {1, 0}}) == "1-3");
    // Two halves of a network, 5 and 3, join again.
    CHECK(left(8, {{0, 5}, {1, 6}, {2, 7}, {5, 0}, {5, 1}, {6, 2}, {6, 3}, {7, 4}}) == "0-4");
    // Who leaves is not heard any more.
    CHECK(left(4, {{3, 0}, {3, 1}, {3, 3}}) == "0-2");
}

TEST_CASE("what is known twice is no news") {
    Suspicions suspicions(RankSet::all(3));
    CHECK(suspicions.add({0, 1}));
    CHECK_FALSE(suspicions.add({0, 1}));
}

TEST_CASE("the order in which accusations come does not matter, and no conflict is left") {
    std::mt19937 random(7);
    for (int round = 0; round < 500; ++round) {
        const int ranks = 2 + static_cast<int>(random() % 9);
        std::vector<Accusation> accusations;
        for (unsigned i = random() % 12; i > 0; --i) {
            const Accusation each{static_cast<int>(random() % static_cast<unsigned>(ranks)),
                                  static_cast<int>(random() % static_cast<unsigned>(ranks))};
            if (std::ranges::find(accusations, each) == accusations.end())
                accusations.push_back(each);
        }
        Suspicions first(RankSet::all(ranks)), second(RankSet::all(ranks));
        for (const Accusation each : accusations)
            first.add(each);
        std::ranges::shuffle(accusations, random);
        for (const Accusation each : accusations)
            second.add(each);
        REQUIRE(first == second);
        for (const Accusation each : accusations)
            CHECK_FALSE((first.left().has(each.accuser) && first.left().has(each.accused)));
    }
}
