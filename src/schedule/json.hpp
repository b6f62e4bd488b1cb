// SPDX-License-Identifier: BSD-3-Clause
// Schedules as text and as JSON (the format is docs/schedule-json.md).
#pragma once

#include <string>
#include <string_view>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

std::string to_json(const Schedule &schedule);
// Throws Error(argument) with the place and the remedy; anything accepted is well formed (every
// index in range), not yet proved.
Schedule from_json(std::string_view text);

// One op a line, for people.
std::string to_text(const Schedule &schedule);
std::string to_text(const Op &op);

} // namespace stretto::schedule
