// SPDX-License-Identifier: BSD-3-Clause
// A schedule played by actors of SimGrid.
#pragma once

#include <vector>

#include "simulate/simulate.hpp"

namespace stretto::test {

enum class Links {
    in_turn,   // as in the model: one message leaves a position at a time, and one enters it
    connected, // those from one position to another in turn, as on a connection; connections share
    shared,    // all messages that are on their way share links fairly
};

struct Played {
    std::vector<double> finish; // as Timeline::finish
    // Times that two things became possible for one processor at the same picosecond.  Which of
    // them it does first the model does not say.
    int tied = 0;
};

// Plays in a process of its own, as a process has one SimGrid.  Throws std::runtime_error if that
// does not come to its end.
Played play(const schedule::Schedule &schedule, const simulate::Problem &problem, Links links);

} // namespace stretto::test
