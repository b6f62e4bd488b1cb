// SPDX-License-Identifier: BSD-3-Clause
// Plays the pieces of a schedule against time, as price.hpp says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cost/pieces.hpp"
#include "cost/price.hpp"
#include "cost/streams.hpp"

namespace stretto::cost {

struct Walk {
    double seconds = 0;
    std::int64_t steps = 0;
    bool ended = true; // false: positions wait for each other, or the limit is passed
    // Messages between hosts that started at the same time as another one of the same position, and
    // wait for the port behind it.
    std::int64_t behind = 0;
    std::vector<double> finish; // by position: its last task; its arrival if it has none
};

// Stops at the first moment beyond `limit` seconds.  `arrivals`: when each position comes, in
// seconds; empty: all come at 0.  `streams`: eager pieces wait for room in them, and their sender
// is done with them when they have it.
Walk walk(const Pieces &pieces, double limit, std::span<const double> arrivals = {},
          const Streams &streams = {});

// The end of an event that happens after `seconds` by the ports alone, if each piece between hosts
// also takes `common` seconds of the shared part, or of cores that hosts share (price.hpp).
double with_common(double seconds, const Walk &walk, const Pieces &pieces, const Network &network);

} // namespace stretto::cost
