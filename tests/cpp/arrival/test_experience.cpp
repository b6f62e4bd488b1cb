// SPDX-License-Identifier: BSD-3-Clause
// What calls took corrects what the model says of them when ranks come at different times.
#include "doctest.h"

#include <cmath>
#include <limits>
#include <vector>

#include "arrival/experience.hpp"

using namespace stretto::arrival;
using doctest::Approx;

namespace {

// The last of four comes 4 seconds late: the others wait 3 in the mean of all.
const std::vector<Arrivals> kLate{{0, 0, 0, 4}};

} // namespace

TEST_CASE("nobody can finish before the last has come, which no factor changes") {
    CHECK(wait(kLate[0]) == Approx(3));
    CHECK(wait({5, 5, 5}) == Approx(0));
    CHECK(wait({7}) == 0);
    CHECK(corrected({5}, kLate, 1) == std::vector<double>{5});
    CHECK(corrected({5}, kLate, 2)[0] == Approx(7));
    CHECK(corrected({5}, kLate, 0.5)[0] == Approx(4));
    CHECK(corrected({}, {}, 2).empty());
}

TEST_CASE("what has served nothing is as wrongly priced as the others") {
    Experience experience;
    CHECK(experience.factor("ring") == 1);
    const std::vector<double> priced{5}, twice{7}, half{4};
    experience.learn("chain(segments=7)", kLate, priced, twice);
    CHECK(experience.factor("chain(segments=9)") == Approx(2));
    CHECK(experience.factor("ring") == Approx(2));
    experience.learn("ring", kLate, priced, half);
    CHECK(experience.factor("ring") == Approx(0.5));
    CHECK(experience.factor("chain") == Approx(2));
    CHECK(experience.factor("late_rooted(blocks=4,chain=2)") == Approx(1));
}

TEST_CASE("what it takes where the late rank shows in the call says nothing of other calls") {
    Experience experience;
    experience.learn(when_detected("chain(segments=7)"), 3);
    CHECK(experience.knows(when_detected("chain(segments=9)")));
    CHECK(!experience.knows("chain(segments=7)"));
    CHECK(experience.factor(when_detected("chain")) == Approx(3));
    CHECK(experience.factor("chain") == Approx(1));
    experience.learn("ring", 2);
    CHECK(experience.factor("chain") == Approx(2));
    CHECK(experience.factor(when_detected("late_rooted")) == Approx(std::sqrt(6)));
}

TEST_CASE("one call of three that was disturbed teaches nothing, nor one that was not timed") {
    Experience experience;
    const std::vector<Arrivals> cases(3, kLate[0]);
    const std::vector<double> priced(3, 5);
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    experience.learn("ring", cases, priced, std::vector<double>{5, 500, 5});
    CHECK(experience.factor("ring") == Approx(1));
    experience.learn("ring", cases, priced, std::vector<double>{unknown, unknown, unknown});
    CHECK(experience.factor("ring") == Approx(1));
    // Slowly; and what cannot be is bounded.
    experience.learn("ring", cases, priced, std::vector<double>{7, 7, unknown});
    CHECK(experience.factor("ring") == Approx(std::sqrt(2)));
    experience.learn("chain", cases, priced, std::vector<double>{500, 500, 500});
    CHECK(experience.factor("chain") == Approx(4));
    experience.learn("bruck", cases, priced, std::vector<double>{1, 1, 1});
    CHECK(experience.factor("bruck") == Approx(0.25));
}

TEST_CASE("single calls teach as well, and it is known what has served") {
    CHECK(*ratio_of(kLate[0], 5, 7) == Approx(2));
    CHECK(*ratio_of(kLate[0], 5, 500) == Approx(4));
    CHECK(!ratio_of(kLate[0], 5, std::numeric_limits<double>::quiet_NaN()));
    Experience experience;
    CHECK(!experience.knows("chain"));
    experience.learn("chain(segments=7)", 2);
    CHECK(experience.knows("chain(segments=9)"));
    CHECK(!experience.knows("ring"));
    CHECK(experience.factor("chain") == Approx(2));
    experience.learn("chain(segments=7)", 0.5);
    CHECK(experience.factor("chain") == Approx(1));
}
