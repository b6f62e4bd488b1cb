// SPDX-License-Identifier: BSD-3-Clause
// What the protocol of a communicator's life promises (src/membership/member.hpp), in every history
// of small worlds; and that each of its rules is needed.
#include "doctest.h"

#include <algorithm>
#include <string>
#include <vector>

#include "membership/model.hpp"
#include "support/tier.hpp"

using stretto::membership::Rules;
using test::Findings;
using test::World;

namespace {

void holds(const World &world, const std::string &what) {
    const Findings found = test::explore(world);
    MESSAGE(what, ": ", found.states, " states, ", found.steps, " steps, ", found.ends, " ends");
    INFO(what, "\n", found.broken, ", after\n", found.history);
    CHECK(found.broken == "");
    CHECK(found.ends > 0);
}

} // namespace

TEST_CASE("two members: everything that can go wrong at once") {
    holds({.ranks = 2,
           .deaths = 1,
           .mistakes = 2,
           .failures = 1,
           .losses = 1,
           .beats = 1,
           .calls = 1},
          "2 members, a death, 2 wrong suspicions, a failure, a loss, a heartbeat, a call");
}

TEST_CASE("three members") {
    holds({.ranks = 3, .deaths = 1, .calls = 2, .questions = 1},
          "3 members, a death, up to 2 calls, a choice");
    holds({.ranks = 3, .deaths = 2, .mistakes = 1}, "3 members, 2 deaths, a wrong suspicion");
    holds({.ranks = 3, .deaths = 1, .mistakes = 2}, "3 members, a death, 2 wrong suspicions");
    holds({.ranks = 3, .deaths = 1, .failures = 1, .losses = 1, .beats = 1},
          "3 members, a death, a failure, a loss, a heartbeat");
    holds({.ranks = 3, .deaths = 0, .mistakes = 1, .losses = 1, .beats = 1},
          "3 members, a wrong suspicion, a loss, a heartbeat");
}

TEST_CASE("four members") {
    holds({.ranks = 4, .deaths = 1}, "4 members, a death");
    holds({.ranks = 4, .deaths = 2, .prompt = true}, "4 members, 2 deaths");
    holds({.ranks = 4, .deaths = 0, .mistakes = 1, .prompt = true}, "4 members, a wrong suspicion");
}

TEST_CASE("five members, to whom revocations spread at once") {
    holds({.ranks = 5, .deaths = 1, .quick_news = true, .prompt = true},
          "5 members, quick news, a death");
    holds({.ranks = 5, .deaths = 0, .mistakes = 1, .quick_news = true, .prompt = true},
          "5 members, quick news, a wrong suspicion");
}

TEST_CASE("safety needs nothing of the links") {
    holds({.ranks = 2,
           .deaths = 1,
           .mistakes = 1,
           .failures = 1,
           .calls = 1,
           .questions = 1,
           .wild_links = true,
           .epochs = 3},
          "2 members, wild links, a death, a wrong suspicion, a failure");
    holds({.ranks = 3,
           .deaths = 1,
           .mistakes = 1,
           .wild_links = true,
           .epochs = 2,
           .rounds = 3,
           .prompt = true},
          "3 members, wild links, a death, a wrong suspicion, up to two views");
}

TEST_CASE("larger worlds, in the full tier") {
    if (!test::full_tier())
        return;
    holds({.ranks = 4, .deaths = 0, .mistakes = 2, .prompt = true},
          "4 members, 2 wrong suspicions");
    holds({.ranks = 4, .deaths = 1, .mistakes = 1, .prompt = true},
          "4 members, a death, a wrong suspicion");
    holds({.ranks = 4, .deaths = 2, .mistakes = 1, .quick_news = true, .prompt = true},
          "4 members, quick news, 2 deaths, a wrong suspicion");
    holds({.ranks = 3,
           .deaths = 0,
           .mistakes = 2,
           .wild_links = true,
           .epochs = 2,
           .rounds = 3,
           .prompt = true},
          "3 members, wild links, 2 wrong suspicions, up to two views");
}

TEST_CASE("leaving out steps that change nothing hides nothing") {
    for (const World &world : std::vector<World>{
             {.ranks = 2, .deaths = 1, .mistakes = 2, .failures = 1, .losses = 1, .beats = 1},
             {.ranks = 3, .deaths = 1, .failures = 1}}) {
        World whole = world;
        whole.reduce = false;
        const Findings some = test::explore(world), all = test::explore(whole);
        CHECK(some.broken == "");
        CHECK(all.broken == "");
        CHECK(some.states < all.states);
        CHECK(some.ends == all.ends);
        CHECK(some.members == all.members);
    }
}

TEST_CASE("random histories of more members") {
    const int histories = test::full_tier() ? 3000 : 60;
    int epochs = 0;
    for (unsigned seed = 1; seed <= 24; ++seed) {
        const int ranks = 2 + static_cast<int>(seed % 8);
        const Findings found = test::wander({.ranks = ranks,
                                             .deaths = ranks / 2,
                                             .mistakes = ranks / 4,
                                             .failures = 1,
                                             .losses = 1,
                                             .beats = 1,
                                             .calls = 2,
                                             .questions = 1},
                                            seed, histories);
        INFO(ranks, " members, seed ", seed, ": ", found.broken, ", after\n", found.history);
        CHECK(found.broken == "");
        epochs = std::max(epochs, found.epochs);
    }
    CHECK(epochs >= 3); // they do get that far
}

TEST_CASE("each rule is needed, and the checker finds out what breaks without it") {
    struct Case {
        std::string broken;
        World world;
    };
    const std::vector<Case> cases = {
        {"one view for each epoch",
         {.ranks = 2, .deaths = 0, .mistakes = 2, .rules = {.lowest_breaks_ties = false}}},
        {"one view for each epoch",
         {.ranks = 3,
          .deaths = 0,
          .mistakes = 1,
          .failures = 1,
          .wild_links = true,
          .epochs = 2,
          .rounds = 3,
          .prompt = true,
          .rules = {.keeps_promises = false}}},
        {"one view for each epoch",
         {.ranks = 3, .deaths = 1, .mistakes = 1, .rules = {.carries_votes = false}}},
        {"the completed calls of a view are the least of its members'",
         {.ranks = 2,
          .deaths = 0,
          .mistakes = 1,
          .failures = 1,
          .calls = 1,
          .rules = {.awaits_all = false}}},
        {"an epoch is revoked only for what happened in it",
         {.ranks = 3, .deaths = 1, .mistakes = 1, .rules = {.fences = false}}},
        {"a member tells the others before its caller",
         {.ranks = 3, .deaths = 1, .rules = {.forwards = false}}},
        {"a member tells the others before its caller",
         {.ranks = 3, .deaths = 1, .rules = {.forwards_first = false}}},
        {"nobody completes a call once it was told that the epoch has ended",
         {.ranks = 3, .deaths = 1, .calls = 1, .rules = {.ends_calls = false}}},
        {"a choice is decided once",
         {.ranks = 3, .deaths = 0, .questions = 1, .rules = {.decides_once = false}}},
        {"who has called shrink gets an answer",
         {.ranks = 3, .deaths = 2, .rules = {.gives_up = false}}},
    };
    for (const Case &each : cases) {
        World sound = each.world;
        sound.rules = Rules{};
        CHECK(test::explore(sound).broken == "");
        const Findings found = test::explore(each.world);
        INFO(each.broken);
        CHECK(found.broken == each.broken);
        CHECK(found.history != "");
    }
}
