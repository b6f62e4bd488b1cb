// SPDX-License-Identifier: BSD-3-Clause
// Times of calls in the profile of a network (profile_json.hpp):
//
//   "calls": [
//     {
//       "collective": "allreduce", "ranks": 4, "hosts": 2, "host_of": [0, 0, 1, 1],
//       "times": [
//         {"bytes": 4096, "algorithm": "ring", "seconds": 8e-5, "skew": 0, "calls": 21, "by":
//         "tune"}, ...
//       ]
//     }, ...
//   ]
//
// "host_of" only if there are several hosts, and some have several ranks.
#pragma once

#include <string>
#include <vector>

#include "schedule/json_value.hpp"
#include "select/measured.hpp"

namespace stretto::select {

// The list, indented as a value of the document.
std::string calls_to_json(const std::vector<Measured> &calls);

// Throws Error(argument) that names the wrong field and its valid values.
std::vector<Measured> calls_from_json(const schedule::Value &value);

} // namespace stretto::select
