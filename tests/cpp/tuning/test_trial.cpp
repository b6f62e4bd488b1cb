// SPDX-License-Identifier: BSD-3-Clause
// Calls that repeat correct the choice: what runs which call, and what stays.
#include "doctest.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "select/situations.hpp"
#include "support/text.hpp"
#include "tuning/trial.hpp"

using namespace stretto::select;
using namespace stretto::tuning;
using test::contains;
using State = Trial::State;

namespace {

// The number of a call, and how many the candidate has run before.
struct When {
    int call, before;
};

// As calls go; each candidate takes what `seconds` says of it.  Returns what ran which, from the
// first call of the trial on.
std::vector<std::string> play(Trial &trial, const std::vector<std::string> &candidates,
                              const std::function<double(const std::string &, When)> &seconds) {
    std::vector<std::string> ran;
    std::map<std::string, int> runs;
    for (int call = 1; call < 400 && trial.state() != State::over; ++call) {
        if (trial.due())
            trial.begin(candidates);
        if (!trial.trying())
            continue;
        ran.push_back(trial.next());
        CHECK(trial.is_turn() == (ran.back() != *trial.standing()));
        trial.took(seconds(ran.back(), {call, runs[ran.back()]++}));
        if (trial.agrees())
            trial.decide();
    }
    return ran;
}

std::function<double(const std::string &, When)> takes(double ring, double direct) {
    return [=](const std::string &candidate, When) {
        return candidate == "ring" ? ring : candidate == "direct" ? direct : 1.0;
    };
}

constexpr std::size_t kEvery = Trial::kEveryCalls;

} // namespace

TEST_CASE("candidates run a call now and then; nothing more follows if none promises a gain") {
    Trial trial;
    CHECK(trial.standing() == nullptr);
    const std::vector<std::string> candidates = {"ring", "direct", "linear", "chain"};
    const std::vector<std::string> ran = play(trial, candidates, takes(1.0, 1.1));
    REQUIRE(ran.size() == 8 * kEvery + 1);
    for (std::size_t i = 0; i < ran.size(); ++i)
        CHECK(ran[i] == candidates[i % kEvery == 0 ? 1 + i / kEvery % 3 : 0]);
    CHECK(*trial.standing() == "ring");
    CHECK(contains(trial.why(), "over 2 calls each: ring 1000 ms, direct 1100 ms, linear 1000 ms"));
    REQUIRE(trial.medians().size() == 4);
    CHECK(trial.medians()[0].calls == 6);
    CHECK(trial.medians()[3].calls == 2);
    CHECK(!trial.due());
}

TEST_CASE("what promises a gain takes turns with the cheapest, and stays") {
    Trial trial;
    const std::vector<std::string> ran = play(trial, {"ring", "direct", "linear"}, takes(1.0, 0.5));
    CHECK(trial.state() == State::over);
    const std::size_t screening = 5 * kEvery + 1;
    REQUIRE(ran.size() == screening + 2 * Trial::kConfirmedCalls);
    for (std::size_t i = screening; i < ran.size(); ++i)
        CHECK(ran[i] == ((i - screening) % 2 == 0 ? "ring" : "direct"));
    CHECK(*trial.standing() == "direct");
    CHECK(contains(trial.why(), "over 7 calls each: ring 1000 ms, direct 500 ms"));
    CHECK(!contains(trial.why(), "linear"));
    CHECK(trial.medians()[1].calls == Trial::kConfirmedCalls);
    CHECK(trial.medians()[2].calls == Trial::kScreenedCalls);
}

TEST_CASE("of several that promise a gain the fastest stays") {
    Trial trial;
    play(trial, {"ring", "direct", "linear", "chain"}, [](const std::string &candidate, When) {
        return candidate == "linear" ? 0.5 : candidate == "chain" ? 0.7 : 1.0;
    });
    CHECK(*trial.standing() == "linear");
    CHECK(contains(trial.why(), "over 7 calls each: ring 1000 ms, linear 500 ms, chain 700 ms"));
}

TEST_CASE("candidates run few of a thousand calls") {
    for (const std::size_t count : {2U, 3U, 4U}) {
        Trial trial;
        std::vector<std::string> candidates = {"ring", "direct", "linear", "chain"};
        candidates.resize(count);
        const std::vector<std::string> ran = play(trial, candidates, takes(1.0, 1.5));
        CHECK(ran.size() - static_cast<std::size_t>(std::ranges::count(ran, "ring")) ==
              3 * (count - 1));
    }
}

TEST_CASE("the first turn does not count, nor do two slow calls of seven") {
    Trial trial;
    play(trial, {"ring", "direct"}, [](const std::string &candidate, When when) {
        const bool slow =
            when.before == 0 || when.before == 1 || when.before == 4 || when.before == 7;
        return candidate == "ring" ? 1.0 : slow ? 50.0 : 0.5;
    });
    CHECK(*trial.standing() == "direct");
}

TEST_CASE("what is hardly faster, or only now and then, does not take the place of the cheapest") {
    Trial near;
    play(near, {"ring", "direct"}, takes(1.0, 0.92));
    CHECK(*near.standing() == "ring");
    CHECK(near.medians()[1].calls == Trial::kConfirmedCalls);
    Trial noisy;
    play(noisy, {"ring", "direct"}, [](const std::string &candidate, When when) {
        const bool slow = when.before == 4 || when.before == 6 || when.before == 8;
        return candidate == "ring" ? 1.0 : slow ? 3.0 : 0.5;
    });
    CHECK(*noisy.standing() == "ring");
}

TEST_CASE("alone there is nothing to try") {
    Trial trial;
    CHECK(play(trial, {"ring"}, takes(1.0, 1.0)).empty());
    CHECK(trial.state() == State::over);
    CHECK(trial.standing() == nullptr);
}

TEST_CASE("tuning_candidates: the choice first, then what was measured, then what is close") {
    Situation s = test::allreduce(6, 2, 16 << 10);
    s.hosts = 6;
    s.consistent = true;
    s.profile.date = "today";
    const std::vector<std::string> names = tuning_candidates(s);
    CHECK(names.size() == 4);
    CHECK(choose(s).candidates == names); // priced once
    // Of long vectors all that are close take what the links take.
    Situation longer = s;
    longer.bytes = 64 << 20;
    CHECK(tuning_candidates(longer) == std::vector<std::string>{choose(longer).algorithm});
    CHECK(names[0] == choose(s).algorithm);
    CHECK(names[1] == "recursive_doubling");
    for (std::size_t i = 0; i < names.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            CHECK(names[i] != names[j]);
    s.hosts = 2;
    s.ranks = 2;
    CHECK(tuning_candidates(s).size() >= 1);
}
