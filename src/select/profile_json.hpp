// SPDX-License-Identifier: BSD-3-Clause
// Profiles of networks as JSON: what STRETTO_TUNING_FILE names, and what a job says that it goes
// by.
//
//   {
//     "stretto": "0.2.0",                  the version that wrote it
//     "format": 1,                         of this document; 1 if it does not say; 2 has
//                                          "concurrency"
//     "host": "node1",                     rank 0's; "" if it was assumed
//     "date": "2026-03-01 12:00:00 UTC",
//     "links": {
//       "inside":  {"latency": 4e-7, "overhead": 3e-7, "byte": 1e-10, "reduce": 9e-11, "how":
//       "..."}, "between": {...}
//     },                                   not in one that says nothing of links
//     "concurrency": {...},                what pairs of ranks move (concurrency_json.hpp)
//     "calls": [...]                       what they took, if any were measured (measured_json.hpp)
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

// A text for people in a profile; throws Error(argument) if it is too long for one.
std::string profile_text(const schedule::Value &value);

// All but `source`.  Throws Error(argument) with the place and what would do there.
Profile profile_from_json(std::string_view text);

// Throws Error(argument) with the path and the remedy if the file cannot be read or is malformed.
Profile load_profile(const std::string &path);

// A call, as "calls" has them, and algorithms that are worth measuring for it:
//
//   {"collective": "allreduce", "ranks": 4, "hosts": 4, "bytes": 4096, "algorithms": ["ring", ...]}
std::string tuning_candidates_to_json(const Measured &call, std::size_t bytes,
                                      const std::vector<std::string> &algorithms);

} // namespace stretto::select
