// SPDX-License-Identifier: BSD-3-Clause
// Profiles as JSON: the files that STRETTO_TUNING_FILE names, and the profile of a job.
//
//   {
//     "stretto": "0.2.0",                  the version that wrote it
//     "format": 1,                         of this document; 1 if it is missing; 2 has
//     "concurrency" "host": "node1",                     rank 0's; "" if it was assumed "date":
//     "2026-03-01 12:00:00 UTC", "links": {
//       "inside":  {"latency": 4e-7, "overhead": 3e-7, "byte": 1e-10, "reduce": 9e-11, "how":
//       "..."}, "between": {...}
//     },                                   missing if links were not measured
//     "concurrency": {...},                what pairs of ranks move (concurrency_json.hpp)
//     "calls": [...]                       their times, if any were measured (measured_json.hpp)
//   }
//
// Seconds, and seconds per byte, as price.hpp defines them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "select/profile.hpp"

namespace stretto::schedule {
class Value;
}

namespace stretto::select {

std::string to_json(const Profile &profile, std::string_view version);

// A text for users in a profile; throws Error(argument) if it is too long for one.
std::string profile_text(const schedule::Value &value);

// Reads all fields but `source`.  Throws Error(argument) that names the wrong field and its valid
// values.
Profile profile_from_json(std::string_view text);

// Throws Error(argument) with the path and the remedy if the file cannot be read or is malformed.
Profile load_profile(const std::string &path);

// A call, in the form of "calls", and algorithms that are worth measuring for it:
//
//   {"collective": "allreduce", "ranks": 4, "hosts": 4, "bytes": 4096, "algorithms": ["ring", ...]}
std::string tuning_candidates_to_json(const Measured &call, std::size_t bytes,
                                      const std::vector<std::string> &algorithms);

} // namespace stretto::select
