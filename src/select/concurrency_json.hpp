// SPDX-License-Identifier: BSD-3-Clause
// "concurrency" of a profile: what pairs of ranks move at the same time (cost/concurrency.hpp).
//
//   "concurrency": {
//     "inside":  {"how": "...", "pairs": [1,2,4], "rows": [
//       {"bytes": 4, "throughput": 1.2e7, "relative": [1, 1.9, 3.7]}, ...
//     ]},
//     "between": {...}
//   }
//
// "inside": of pairs on one host; "between": of two hosts.  Either may be missing.  Bytes per
// second.  `relative` has a number for each of `pairs`, whose first is 1.
#pragma once

#include <string>

#include "select/profile.hpp"

namespace stretto::schedule {
class Value;
}

namespace stretto::select {

// As a document has it, two spaces in.
std::string concurrency_to_json(const Concurrency &concurrency);

// Throws Error(argument) with the place and what would do there.
Concurrency concurrency_from_json(const schedule::Value &value);

} // namespace stretto::select
