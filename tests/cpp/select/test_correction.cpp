// SPDX-License-Identifier: BSD-3-Clause
// What was measured corrects the choice: by how much, how far from where it was measured, and what
// becomes of those that were not.
#include "doctest.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "select/correction.hpp"
#include "select/explain.hpp"
#include "situations.hpp"
#include "support/text.hpp"

using namespace stretto;
using schedule::Collective;
using select::Measured;
using select::Priced;
using select::Situation;
using select::Timing;
using test::allreduce;
using test::contains;

namespace {

// Six hosts with a Gigabit Ethernet that somebody has measured.
Situation six(std::size_t bytes) {
    Situation s = allreduce(6, 12, bytes);
    s.hosts = 6;
    s.consistent = true;
    s.profile.date = "today";
    return s;
}

double price(const Situation &s, const std::string &name) {
    for (const Priced &each : select::priced(s))
        if (each.name == name && each.excluded.empty())
            return each.price.seconds;
    REQUIRE_MESSAGE(false, name);
    return 0;
}

// These calls took so many times what they are priced at there.
void measured(Situation &s, std::size_t bytes, const std::string &name, double factor,
              double skew = 0) {
    Situation there = s;
    there.bytes = bytes;
    Timing timing{bytes, name, price(there, name) * factor, skew, 7, Timing::By::tune};
    select::add(s.profile.calls, {s.collective, s.ranks, s.hosts, s.host_of, {timing}});
}

double factor(const Situation &s, const std::string &name) {
    const std::vector<Priced> all = select::priced(s);
    const auto corrections = select::corrections(s, all);
    if (corrections.empty())
        return 1;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].name == name)
            return corrections[i].factor;
    REQUIRE_MESSAGE(false, name);
    return 0;
}

const char *const kSix = "generalized(group=2x3, r=3)"; // what serves 64 bytes by price

} // namespace

TEST_CASE("a correction flips a choice, and the choice says so") {
    Situation s = six(64);
    REQUIRE(select::choose(s).algorithm == kSix);
    CHECK(select::choose(s).by_price);
    // It took twice what it is priced at, and this one what it should.
    measured(s, 64, kSix, 2);
    measured(s, 64, "recursive_doubling", 1);
    CHECK(price(six(64), "recursive_doubling") < 2 * price(six(64), kSix));
    const select::Choice choice = select::choose(s);
    CHECK(choice.algorithm == "recursive_doubling");
    CHECK(!choice.by_price); // trials know no more
    // The rule for such sizes is of the same mind.
    CHECK(contains(choice.why, "measured rule between hosts"));
    CHECK(contains(choice.why, "; by price as corrected by measured calls none is faster"));
    CHECK(contains(choice.why, "; uncorrected the cheapest is " + std::string(kSix)));
    s.profile.calls.clear();
    measured(s, 64, kSix, 2);
    measured(s, 64, "circulant", 0.5);
    const select::Choice other = select::choose(s);
    CHECK(other.algorithm == "circulant");
    CHECK(contains(other.why, "as corrected by measured calls"));
    CHECK(contains(other.why, "uncorrected the cheapest is " + std::string(kSix)));
    // Also where the links are assumed, and rules would count more than prices.
    s.profile.date.clear();
    CHECK(select::choose(s).algorithm == "circulant");
}

TEST_CASE("those that were not measured are scaled by what the others have in common") {
    Situation s = six(4096);
    measured(s, 4096, "ring", 4);
    CHECK(factor(s, "ring") == doctest::Approx(4));
    CHECK(factor(s, "circulant") == doctest::Approx(4));
    measured(s, 4096, "circulant", 9);
    CHECK(factor(s, "circulant") == doctest::Approx(9));
    CHECK(factor(s, "ring") == doctest::Approx(4));
    CHECK(factor(s, "binomial") == doctest::Approx(6)); // their geometric mean
    // A model that is wrong about all of them alike changes nothing.
    Situation slow = six(4096);
    const std::string before = select::choose(slow).algorithm;
    measured(slow, 4096, before, 3);
    measured(slow, 4096, "ring", 3);
    CHECK(select::choose(slow).algorithm == before);
}

TEST_CASE("one that was measured alone leaves trials to be made") {
    Situation s = six(64);
    measured(s, 64, kSix, 1);
    CHECK(select::choose(s).algorithm == kSix);
    CHECK(select::choose(s).by_price);
    measured(s, 64, "ring", 1);
    CHECK(!select::choose(s).by_price);
    // What serves was not measured, others were.
    Situation others = six(64);
    measured(others, 64, "ring", 1);
    measured(others, 64, "circulant", 1);
    REQUIRE(select::choose(others).algorithm == kSix);
    CHECK(select::choose(others).by_price);
}

TEST_CASE("between two sizes what lies between, in logarithms") {
    Situation s = six(4096);
    measured(s, 1024, "ring", 2);
    measured(s, 16384, "ring", 8);
    CHECK(factor(s, "ring") == doctest::Approx(4)); // half way
    s.bytes = 2048;
    CHECK(factor(s, "ring") == doctest::Approx(std::pow(2.0, 1.5)));
    s.bytes = 1024;
    CHECK(factor(s, "ring") == doctest::Approx(2));
    s.bytes = 16384;
    CHECK(factor(s, "ring") == doctest::Approx(8));
}

TEST_CASE("a measurement reaches a factor of two, and across one of sixteen between two") {
    Situation s = six(4096);
    measured(s, 4096, "ring", 3);
    for (const std::size_t near : {2048, 4000, 8192}) {
        s.bytes = near;
        CHECK(factor(s, "ring") == doctest::Approx(3));
    }
    for (const std::size_t far : {4, 1920, 8196, 1 << 20}) {
        s.bytes = far;
        CHECK(select::corrections(s, select::priced(s)).empty());
        CHECK(!contains(select::choose(s).why, "corrected"));
    }
    measured(s, 4096 * 32, "ring", 3); // too far from the first
    s.bytes = 16384;
    CHECK(select::corrections(s, select::priced(s)).empty());
    s.bytes = 0; // nothing but the turn
    CHECK_NOTHROW((void)select::choose(s));
}

TEST_CASE("of several times of one algorithm their geometric mean counts") {
    Situation s = six(4096);
    measured(s, 4096, "ring", 2);
    measured(s, 4096, "ring", 8, 0.5);
    CHECK(factor(s, "ring") == doctest::Approx(4));
    measured(s, 4096, "ring", 32, 0.25); // takes the place of the other with late ranks
    CHECK(factor(s, "ring") == doctest::Approx(8));
}

TEST_CASE("what is about other calls says nothing") {
    const Situation plain = six(4096);
    const auto silent = [](const Situation &s) {
        return select::corrections(s, select::priced(s)).empty();
    };
    Situation s = plain;
    measured(s, 4096, "ring", 3);
    REQUIRE(!silent(s));
    s.ranks = s.hosts = 5;
    CHECK(silent(s));
    s.ranks = 6;
    s.hosts = 2;
    s.host_of = {0, 0, 0, 1, 1, 1};
    CHECK(silent(s));
    measured(s, 4096, "ring", 3);
    CHECK(!silent(s));
    s.host_of = {1, 1, 1, 0, 0, 0}; // the same hosts by other numbers
    CHECK(!silent(s));
    s.host_of = {0, 1, 0, 1, 0, 1};
    CHECK(silent(s));
    s = plain;
    measured(s, 4096, "ring", 3);
    s.collective = Collective::allgather;
    CHECK(silent(s));
}

TEST_CASE("an element that is longer than what was measured") {
    Situation s = six(16);
    s.element = 16;
    Situation four = six(8);
    measured(four, 8, "ring", 2);
    s.profile = four.profile;
    CHECK(factor(s, "ring") > 0); // 8 bytes count as one element
    CHECK(std::isfinite(factor(s, "ring")));
}

TEST_CASE("all who know the same choose the same") {
    Situation s = six(64);
    measured(s, 64, kSix, 2);
    measured(s, 256, "ring", 0.7);
    measured(s, 64, "circulant", 0.5);
    for (std::size_t bytes = 4; bytes < 1 << 14; bytes *= 2) {
        s.bytes = bytes;
        const Situation copy = s;
        CHECK(select::choose(copy).algorithm == select::choose(s).algorithm);
        CHECK(select::choose(copy).why == select::choose(s).why);
    }
}

TEST_CASE("on one host the fastest as measured serves in place of the rule") {
    Situation s = allreduce(4, 4, 4096);
    REQUIRE(select::choose(s).algorithm == "one_shot");
    const auto took = [&](std::size_t bytes, const char *name, double seconds) {
        const Timing timing{bytes, name, seconds, 0, 7, Timing::By::tune};
        select::add(s.profile.calls, {s.collective, 4, 1, {}, {timing}});
    };
    took(4096, "direct", 5e-6); // as nothing is known of the other
    CHECK(select::choose(s).algorithm == "one_shot");
    took(4096, "one_shot", 5.1e-6); // not clearly slower
    CHECK(select::choose(s).algorithm == "one_shot");
    took(4096, "one_shot", 8e-6);
    const select::Choice choice = select::choose(s);
    CHECK(choice.algorithm == "direct");
    CHECK(contains(choice.why, "fastest as measured near this size: 5 us, one_shot 8 us"));
    CHECK(!choice.by_price);
    s.bytes = 8192;
    CHECK(select::choose(s).algorithm == "direct");
    s.bytes = 8196;
    CHECK(select::choose(s).algorithm == "one_shot");
    // Between 4 and 64 KiB one time grows and the other does not: they meet.
    took(65536, "one_shot", 8e-6);
    took(65536, "direct", 5e-5);
    s.bytes = 5000;
    CHECK(select::choose(s).algorithm == "direct");
    s.bytes = 11000;
    CHECK(select::choose(s).algorithm == "one_shot");
    // What may not serve does not, however fast.
    s.bytes = 4096;
    s.reproducible = select::Reproducible::full;
    CHECK(select::choose(s).algorithm == "one_shot_canonical");
}

TEST_CASE("between hosts nothing is worth measuring where bytes are all that counts") {
    Situation s = allreduce(4, 8, 4 << 20);
    s.hosts = 4;
    s.profile.date = "today";
    s.profile.between = {0, 1e-5, 8.3e-9, 1e-10};
    CHECK(select::tuning_candidates(s) == std::vector{select::choose(s).algorithm});
    // By price the choice is within a tenth of its bytes here as well; but messages without bytes
    // could be dearer than they were measured to be.
    s.bytes = 64 << 10;
    const std::vector<std::string> names = select::tuning_candidates(s);
    CHECK(price(s, names.front()) < 1.1 * 1.5 * static_cast<double>(s.bytes) * 8.3e-9);
    CHECK(names.size() == 4);
}

TEST_CASE("what is worth measuring on one host") {
    for (const int ranks : {2, 5, 8})
        for (const std::size_t bytes :
             {std::size_t{4}, std::size_t{64} << 10, std::size_t{4} << 20}) {
            const Situation s = allreduce(ranks, 4, bytes);
            const std::vector<std::string> names = select::tuning_candidates(s);
            CHECK(names.front() == select::choose(s).algorithm);
            CHECK(names.size() >= 3);
            CHECK(names.size() <= 5);
            std::vector<std::string> sorted = names;
            std::ranges::sort(sorted);
            CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
        }
}

TEST_CASE("an explanation shows prices and what they are corrected to") {
    Situation s = six(64);
    for (const select::Candidate &each : select::explain(s).candidates)
        CHECK(!each.corrected);
    measured(s, 64, "circulant", 0.5);
    measured(s, 64, kSix, 2);
    const select::Explanation explanation = select::explain(s);
    CHECK(explanation.choice.algorithm == "circulant");
    CHECK(explanation.cheapest == kSix);
    for (const select::Candidate &each : explanation.candidates) {
        const bool known = each.algorithm == "circulant" || each.algorithm == kSix;
        CHECK(each.measured == known);
        if (each.excluded.empty())
            CHECK(*each.corrected ==
                  doctest::Approx(factor(s, each.algorithm) * each.prediction.seconds));
    }
    Situation here = allreduce(4, 4, 4096);
    select::add(here.profile.calls,
                {here.collective, 4, 1, {}, {{4096, "ring", 3e-5, 0, 7, Timing::By::tune}}});
    for (const select::Candidate &each : select::explain(here).candidates)
        CHECK(each.corrected.value_or(0) ==
              (each.algorithm == "ring" ? doctest::Approx(3e-5) : doctest::Approx(0)));
}
