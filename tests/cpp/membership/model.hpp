// SPDX-License-Identifier: BSD-3-Clause
// A model checker for the protocol of src/membership.
//
// A state of the world is: what each member knows, what is on its way between any two (in order),
// who lives, and how much may still go wrong.  From each state the checker takes every step that
// could be next: the delivery of the first message of any channel, a call by any caller, a death, a
// suspicion, right or wrong, a link that loses what it carries and comes back.  A member that is
// frozen is one that takes no step for long, so every freeze and thaw is among the orders that are
// tried.  Who dies loses some of what it has sent last: the rest of each of its channels may vanish
// at any time.
//
// In each step it checks what the protocol promises (member.hpp), and where no step is left, that
// nobody waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "membership/rules.hpp"

namespace test {

// How much may happen in one history.
struct World {
    int ranks = 3;
    int deaths = 1;
    int mistakes = 0;  // wrong suspicions
    int failures = 0;  // found by callers
    int losses = 0;    // of all that is on its way from one rank to another; the link comes back
    int beats = 0;     // heartbeats, which ask those who are behind
    int calls = 0;     // that each member can complete in an epoch
    int questions = 0; // that each member may ask: decided choices
    // Links may deliver in any order, and late or never: then only what holds without any
    // assumption about links is checked, not that anybody gets an answer.
    bool wild_links = false;
    // With wild links two leaders may outbid each other for ever.  A history ends when it gets so
    // far.
    int epochs = 9, rounds = 40;
    bool quick_news = false; // a revocation that comes next on its way is taken at once
    bool prompt = false;     // callers call shrink as soon as they can, not at any time
    // Deliveries that change nothing are taken at once, and alone: they commute with all other
    // steps.
    bool reduce = true;
    stretto::membership::Rules rules = {};
};

struct Findings {
    std::size_t states = 0, steps = 0, ends = 0, members = 0; // members: distinct states of one
    int epochs = 0;                                           // the highest that was reached
    std::string broken;  // the invariant that does not hold, or ""
    std::string history; // that leads there, a step in each line
};

// Every history.
Findings explore(const World &world, std::size_t most_states = SIZE_MAX);
// Some histories, by chance; what goes wrong does so rarely.
Findings wander(const World &world, unsigned seed, int histories);

} // namespace test
