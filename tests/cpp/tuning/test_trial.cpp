// SPDX-License-Identifier: BSD-3-Clause
// Calls that repeat correct the choice: what serves when, and who wins.
#include "doctest.h"

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

// As calls go; each candidate takes what `seconds` says of it.  Returns which served, by call.
std::vector<std::string> play(Trial &trial, const std::vector<std::string> &candidates,
                              double (*seconds)(const std::string &candidate, int call)) {
    std::vector<std::string> served;
    for (int call = 0; call < 200 && trial.state() != State::over; ++call) {
        if (trial.due())
            trial.begin(candidates);
        if (trial.state() != State::trying)
            continue;
        served.push_back(trial.serve());
        CHECK(*trial.served() == served.back());
        trial.took(seconds(served.back(), call));
        if (trial.state() == State::agreeing)
            trial.decide();
    }
    return served;
}

} // namespace

TEST_CASE("candidates take turns, and the fastest stays") {
    Trial trial;
    CHECK(trial.served() == nullptr);
    const std::vector<std::string> candidates = {"ring", "direct", "linear"};
    const std::vector<std::string> served =
        play(trial, candidates,
             [](const std::string &candidate, int) { return candidate == "direct" ? 0.5 : 1.0; });
    CHECK(trial.state() == State::over);
    REQUIRE(served.size() == 3 * Trial::kTurnCalls);
    for (std::size_t i = 0; i < served.size(); ++i)
        CHECK(served[i] == candidates[i % 3]);
    CHECK(trial.serve() == "direct");
    CHECK(contains(trial.why(), "ring 1000 ms, direct 500 ms, linear 1000 ms"));
    CHECK(!trial.due());
}

TEST_CASE("the first turn does not count, nor do two slow calls of seven") {
    Trial trial;
    play(trial, {"ring", "direct"}, [](const std::string &candidate, int call) {
        const int turn = (call - static_cast<int>(Trial::kBeforeCalls)) / 2;
        return candidate == "ring" ? 1.0 : turn == 0 || turn == 2 || turn == 5 ? 50.0 : 0.5;
    });
    CHECK(trial.serve() == "direct");
}

TEST_CASE("what is hardly faster, or only now and then, does not take the place of the cheapest") {
    Trial near;
    play(near, {"ring", "direct"},
         [](const std::string &candidate, int) { return candidate == "ring" ? 1.0 : 0.92; });
    CHECK(near.serve() == "ring");
    Trial noisy;
    play(noisy, {"ring", "direct"}, [](const std::string &candidate, int call) {
        return candidate == "ring" ? 1.0 : (call / 2) % 5 < 2 ? 3.0 : 0.5;
    });
    CHECK(noisy.serve() == "ring");
}

TEST_CASE("alone there is nothing to try") {
    Trial trial;
    CHECK(play(trial, {"ring"}, [](const std::string &, int) { return 1.0; }).empty());
    CHECK(trial.state() == State::over);
    CHECK(trial.served() == nullptr);
}

TEST_CASE("tuning_candidates: the choice first, then what was measured, then what is close") {
    Situation s = test::allreduce(6, 2, 16 << 10);
    s.hosts = 6;
    s.consistent = true;
    s.profile.date = "today";
    const std::vector<std::string> names = tuning_candidates(s);
    CHECK(names.size() == 5);
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
