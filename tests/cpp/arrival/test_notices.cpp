// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <cstdint>
#include <string>

#include "arrival/notices.hpp"
#include "base/status.hpp"

using namespace stretto;
using namespace stretto::arrival;

TEST_CASE("deviations are told as they are") {
    for (const Deviations &each :
         {Deviations{}, Deviations{{0, 0}}, Deviations{{3, 50'000'000}, {7, -20'000}},
          Deviations{{0, INT64_MAX}, {2147483647, INT64_MIN + 1}}})
        CHECK(deviations_from(to_text(each, 1024)) == each);
    CHECK(to_text({{3, 50}, {7, -200}}, 1024) == "7:-200 3:50");
}

TEST_CASE("where there is not room for all, those farthest from their habit are told") {
    Deviations many;
    for (int rank = 0; rank < 1000; ++rank)
        many[rank] = rank % 2 == 0 ? rank : -1000 - rank;
    const std::string text = to_text(many, 100);
    CHECK(text.size() <= 100);
    const Deviations told = deviations_from(text);
    CHECK(told.size() >= 9);
    for (const auto &[rank, later] : told) {
        CHECK(later == many[rank]);
        CHECK(rank > 1000 - 2 * static_cast<int>(told.size()) - 1);
        CHECK(rank % 2 == 1);
    }
    CHECK(to_text(many, 3).empty());
}

TEST_CASE("what is no list of deviations is refused") {
    for (const char *text :
         {"3", "3:", ":5", "x:5", "3:x", "3:5 ", " 3:5", "3:5,4:6", "-1:5", "3:5  4:6"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(deviations_from(text), Error);
    }
}

TEST_CASE("of each rank the last word counts, and what was taken is forgotten") {
    Notices notices;
    notices.add(5, 1, 100);
    notices.add(5, 2, 200);
    notices.add(6, 1, 300);
    notices.add(5, 1, -50);
    CHECK(notices.take(5) == Deviations{{1, -50}, {2, 200}});
    CHECK(notices.take(5).empty());
    CHECK(notices.take(6) == Deviations{{1, 300}});
    CHECK(notices.take(7).empty());
}

TEST_CASE("calls that nobody asks about make room for others") {
    Notices notices;
    for (std::uint64_t key = 0; key < Notices::kMostCalls; ++key)
        notices.add(1000 - key, 1, static_cast<std::int64_t>(key));
    notices.add(5, 2, 7); // the first key goes, though it is the largest
    CHECK(notices.take(1000).empty());
    CHECK(notices.take(999) == Deviations{{1, 1}});
    CHECK(notices.take(5) == Deviations{{2, 7}});
}
