// SPDX-License-Identifier: BSD-3-Clause
// Who is late to a call, as ranks come to it.
#include "doctest.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "arrival/latecomers.hpp"

using stretto::arrival::Latecomers;
using Ranks = std::vector<int>;

namespace {

constexpr std::uint64_t kGrace = 10, kPatience = 1000;

} // namespace

TEST_CASE("the last to come is known when the others have, and some time has passed") {
    Latecomers late({0, 2, 5, 9}, 1, kGrace, kPatience);
    late.came(5, 100);
    late.came(0, 130);
    CHECK(!late.who(130));
    CHECK(late.due() == 100 + kPatience);
    late.came(0, 140); // again
    CHECK(!late.who(140));
    late.came(9, 200);
    CHECK(!late.who(200));
    CHECK(late.due() == 200 + kGrace);
    late.came(9, 205);
    CHECK(late.due() == 200 + kGrace);
    CHECK(late.who(209) == std::nullopt);
    CHECK(late.who(210) == Ranks{2});
}

TEST_CASE("nobody is late if all come soon after one another") {
    Latecomers late({0, 1, 2}, 1, kGrace, kPatience);
    for (const int rank : {2, 0, 1})
        late.came(rank, 500 + static_cast<std::uint64_t>(rank));
    CHECK(late.who(502) == Ranks{});
    CHECK(late.who(9999) == Ranks{});
}

TEST_CASE("where more are late than were thought of, nobody waits for ever") {
    Latecomers late({0, 1, 2, 3, 4}, 2, kGrace, kPatience);
    late.came(3, 7);
    late.came(1, 9);
    CHECK(!late.who(6 + kPatience));
    CHECK(late.who(7 + kPatience) == Ranks{}); // who is late cannot be said
    late.came(2, 8 + kPatience);
    CHECK(late.who(8 + kPatience) == Ranks{0, 4}); // and now it can
}

TEST_CASE("whatever the order, those who are named have not come, and nobody else is missing") {
    std::mt19937 random(7);
    for (int turn = 0; turn < 2000; ++turn) {
        const int ranks = 1 + static_cast<int>(random() % 12);
        const std::size_t most = random() % static_cast<unsigned>(ranks + 1);
        Ranks all(static_cast<std::size_t>(ranks));
        std::iota(all.begin(), all.end(), 0);
        Latecomers late(all, most, kGrace, kPatience);
        Ranks order = all;
        std::ranges::shuffle(order, random);
        std::set<int> here;
        std::uint64_t now = random() % 100;
        for (const int rank : order) {
            late.came(rank, now);
            here.insert(rank);
            const auto at_once = late.who(now), when_due = late.who(std::max(now, late.due()));
            REQUIRE(when_due.has_value());
            CHECK(when_due->size() <= most);
            if (at_once)
                CHECK(at_once->size() <= most);
            for (const int each : *when_due)
                CHECK(!here.contains(each));
            if (!when_due->empty())
                CHECK(when_due->size() + here.size() == all.size());
            if (here.size() == all.size())
                CHECK(at_once == Ranks{});
            now += random() % 30;
        }
    }
}
