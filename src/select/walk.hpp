// SPDX-License-Identifier: BSD-3-Clause
// Plays the pieces of a schedule against time, as price.hpp says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "select/pieces.hpp"

namespace stretto::select {

struct Walk {
    double seconds = 0;
    std::int64_t steps = 0;
    bool ended = true; // false: some wait for each other, or the limit is passed
};

// Up to the first moment beyond `limit` seconds.
Walk walk(const Pieces &pieces, double limit);

} // namespace stretto::select
