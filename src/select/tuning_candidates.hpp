// SPDX-License-Identifier: BSD-3-Clause
// The algorithms that are worth measuring if ranks share memory.
#pragma once

#include <string>
#include <vector>

#include "select/select.hpp"

namespace stretto::select {

// For ranks on one host: the choice, then other algorithms with a close prediction (predict.hpp),
// the cheapest first; any of them may really be the fastest.  At least two others, if there are so
// many.
std::vector<std::string> tuning_candidates_in_memory(const Situation &situation);

} // namespace stretto::select
