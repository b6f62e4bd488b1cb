// SPDX-License-Identifier: BSD-3-Clause
// Imported schedules: read from a user's file (docs/schedule-json.md), proved, and only then
// played.
//
// Each rank reads the file itself.  The hash of its content is part of the fingerprint of calls, so
// ranks that have read different files find out.
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

// An imported schedule cannot run a call.  Ranks whose files differ may differ in this.
class Unfit : public Error {
public:
    using Error::Error;
};

// Throws Error that names the file and the remedy: Status::argument if the file cannot be read or
// is no schedule, or if the schedule cannot be proved or played; Status::unsupported if it is for
// another number of ranks.
std::shared_ptr<const Imported> import_schedule(const std::string &path, int ranks);

// Throws Unfit, which names the file and the remedy, if the schedule cannot run this call with a
// vector of `count` elements.
void require(const Imported &imported, const Situation &situation, schedule::Position root,
             std::size_t count);

// The error of a call that the schedule cannot run for this reason.
Unfit unfit(const Imported &imported, const std::string &why, const std::string &remedy);

} // namespace stretto::select
