// SPDX-License-Identifier: BSD-3-Clause
// Schedules as text and as JSON (the format is docs/schedule-json.md).
#pragma once

#include <string>
#include <string_view>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

std::string to_json(const Schedule &schedule);
// Reads a schedule.  Throws Error(argument) that names the place and the remedy.  An accepted
// schedule is well formed (every index is in range), but not yet proved.
Schedule from_json(std::string_view text);

// Writes a schedule for human readers, one op on each line.
std::string to_text(const Schedule &schedule);
std::string to_text(const Op &op);

} // namespace stretto::schedule
