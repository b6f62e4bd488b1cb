// SPDX-License-Identifier: BSD-3-Clause
// Plays the pieces of a schedule against time, as price.hpp says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cost/pieces.hpp"

namespace stretto::cost {

struct Walk {
    double seconds = 0;
    std::int64_t steps = 0;
    bool ended = true; // false: some wait for each other, or the limit is passed
    // Messages between hosts that started when another of the same position did, and behind it.
    std::int64_t behind = 0;
    std::vector<double> finish; // by position: its last task; its arrival if it has none
};

// Up to the first moment beyond `limit` seconds.  Positions come when `arrivals` say, in seconds
// from 0 on; empty: all at 0.
Walk walk(const Pieces &pieces, double limit, std::span<const double> arrivals = {});

// When something is done that ports alone would have done after `seconds`, if each piece between
// hosts takes `common` of what all share (price.hpp).
double with_common(double seconds, const Walk &walk, const Pieces &pieces, double common);

} // namespace stretto::cost
