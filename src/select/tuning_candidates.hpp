// SPDX-License-Identifier: BSD-3-Clause
// What is worth measuring where ranks share memory.
#pragma once

#include <string>
#include <vector>

#include "select/select.hpp"

namespace stretto::select {

// Of ranks on one host: the choice first, then others, the cheapest by prediction (predict.hpp)
// first, whose prediction is close enough that it may be wrong about them; two in any case, if
// there are so many.
std::vector<std::string> tuning_candidates_in_memory(const Situation &situation);

} // namespace stretto::select
