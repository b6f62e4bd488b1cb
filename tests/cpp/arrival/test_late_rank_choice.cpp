// SPDX-License-Identifier: BSD-3-Clause
// When ranks that share memory wait until only one is missing: where that was measured to pay.
#include "doctest.h"

#include <cstdint>

#include "arrival/late_rank_choice.hpp"

using stretto::arrival::LateRankChoice;

namespace {

// In microseconds.
struct Program {
    std::uint64_t gap;         // so much later comes the last one
    std::uint64_t synchronous; // and is done after so long, if nobody waited,
    std::uint64_t late_last;   // or if all others did
};

class Player {
public:
    // How many of these calls were waited for.
    int play(const Program &program, int calls) {
        int waited = 0;
        for (int call = 0; call < calls; ++call) {
            const bool waits = rule.waits();
            const bool late = waits && program.gap * 1000 > rule.grace();
            waited += waits;
            rule.add(program.gap * 1000, late);
            rule.took(1000 * (late ? program.late_last : program.synchronous));
        }
        return waited;
    }

    LateRankChoice rule;
};

} // namespace

TEST_CASE("where one comes late and it pays, ranks wait") {
    Player player;
    CHECK(player.play({10'000, 700, 500}, 10) <= 4);
    CHECK(player.play({10'000, 700, 500}, 200) == 200);
    CHECK(player.rule.grace() == 35'000);
    CHECK(player.rule.synchronous() == 700'000);
    CHECK(player.rule.late_last() == 500'000);
    SUBCASE("as long as one comes late") {
        CHECK(player.play({20, 700, 500}, 20) <= 4);
        CHECK_FALSE(player.rule.waits());
    }
    SUBCASE("and what the other takes is measured again") {
        const int waited = player.play({10'000, 400, 500}, 2000);
        CHECK(waited < 150);
        CHECK(player.rule.synchronous() == 400'000);
    }
}

TEST_CASE("where ranks come together they never wait") {
    Player player;
    CHECK(player.play({30, 700, 100}, 1000) == 0);
    CHECK(player.play({600, 700, 100}, 1000) == 0); // nor less late than a call takes
}

TEST_CASE("where it does not pay it is tried more and more seldom") {
    Player player;
    const int first = player.play({10'000, 700, 690}, 1000);
    CHECK(first > 0);
    CHECK(first < 50);
    CHECK(player.play({10'000, 700, 690}, 20'000) < 80);
    CHECK_FALSE(player.rule.waits());
    // Times change.
    CHECK(player.play({10'000, 700, 300}, 10'000) > 1000);
}

TEST_CASE("a trial of which nothing is learned ends") {
    Player player;
    player.play({10'000, 700, 500}, 9);
    REQUIRE(player.rule.waits());
    // Nobody says what calls take.
    int waited = 0;
    for (int call = 0; call < 200; ++call) {
        waited += player.rule.waits();
        player.rule.add(10'000'000, player.rule.waits());
        player.rule.took(0);
    }
    CHECK(waited <= static_cast<int>(LateRankChoice::kTrialCalls));
    CHECK_FALSE(player.rule.waits());
}
