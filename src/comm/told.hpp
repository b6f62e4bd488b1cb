// SPDX-License-Identifier: BSD-3-Clause
// What is known of calls before which ranks tell of their phases (phases.cpp); the same on all.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "select/late.hpp"

namespace stretto::comm {

struct Told {
    bool asks = false;                               // somebody told something before the last call
    std::map<select::Arrivals, select::Late> serves; // for arrivals that were told
    select::Arrivals expected;           // of the call in progress, if they are not the usual ones
    std::deque<select::Arrivals> errors; // of the last that were not: what came less what was told
    std::uint64_t last = 0;              // the number of that call
};

} // namespace stretto::comm
