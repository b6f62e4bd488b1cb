// SPDX-License-Identifier: BSD-3-Clause
// Schedules that users bring: read from a file (docs/schedule-json.md), proved, and only then
// played.
//
// Ranks read the file themselves.  That they have read the same is for their calls to tell: the
// hash of its content is part of what calls must agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "schedule/schedule.hpp"
#include "schedule/verify.hpp"
#include "select/select.hpp"

namespace stretto::select {

struct Imported {
    std::string path;
    std::uint64_t hash = 0; // of the file's content
    schedule::Schedule schedule;
    schedule::Verdict verdict;
    bool by_arrival = false; // reduces in the order of arrival
};

// That it cannot run a call.  Ranks whose files differ may not agree on that.
class Unfit : public Error {
public:
    using Error::Error;
};

// Throws Error that names the file and says what to do: Status::argument if it cannot be read, is
// no schedule, is not proved or has nothing that can be played, Status::unsupported if it is for
// another number of ranks.
std::shared_ptr<const Imported> import_schedule(const std::string &path, int ranks);

// Throws Unfit, likewise, if it cannot run this call, of a vector of `count` elements.
void require(const Imported &imported, const Situation &situation, schedule::Position root,
             std::size_t count);

// What is thrown if a call cannot be played for this reason.
Unfit unfit(const Imported &imported, const std::string &why, const std::string &remedy);

} // namespace stretto::select
