// SPDX-License-Identifier: BSD-3-Clause
// Is a schedule well formed?  The verifier asks before it proves, the JSON reader before it
// accepts.
#pragma once

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// Ranks, partition, contract and token fit one another.  Throws Error(argument).
void check_frame(const Schedule &schedule);

// Every index of the program is in range, every op has the fields of its kind and no others, the
// suffixes are as many as the token has values.  Throws Error(argument) that names the op.
void check_program(const Schedule &schedule, Position position, const Program &program);

// Does it look the same from every position, as it says?  Each must do what the first one does, but
// for the labels of blocks and slots: the same ops on as many blocks, with peers moved as far as it
// is away from the first.
bool is_symmetric(const Schedule &schedule);

} // namespace stretto::schedule
