// SPDX-License-Identifier: BSD-3-Clause
// The algorithm that runs a call.
#pragma once

#include <memory>
#include <vector>

#include "schedule/schedule.hpp"
#include "select/imported.hpp"
#include "select/select.hpp"

namespace stretto::calls {

struct Chosen : select::Choice {
    std::shared_ptr<const select::Imported> imported; // null: an algorithm of the library
    std::vector<schedule::Position> order = {};       // the rank at each position; empty: in order
    bool forced = false;
};

} // namespace stretto::calls
