// SPDX-License-Identifier: BSD-3-Clause
// Checks that a schedule is well formed.  The verifier calls this before the proof, the JSON reader
// before it accepts a schedule.
#pragma once

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// Checks that ranks, partition, contract and token fit one another.  Throws Error(argument).
void check_frame(const Schedule &schedule);

// Checks that every index of the program is in range, that every op has exactly the fields of its
// kind, and that there is one suffix for each value of the token.  Throws Error(argument) that
// names the op.
void check_program(const Schedule &schedule, Position position, const Program &program);

// Checks the claim that the schedule looks the same from every position.  Each position must do
// what the first does, up to the labels of blocks and slots: the same ops on as many blocks, with
// peers shifted by its distance from the first.
bool is_symmetric(const Schedule &schedule);

} // namespace stretto::schedule
