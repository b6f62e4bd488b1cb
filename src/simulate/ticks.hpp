// SPDX-License-Identifier: BSD-3-Clause
// Simulated time.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace stretto::simulate {

// Picoseconds.  Integers, so that events of the same moment compare equal however their times were
// summed up.
using Ticks = std::int64_t;

inline constexpr double kTicksPerSecond = 1e12;
inline constexpr double kMostSeconds = 864000; // of an arrival, a message, a reduction: 10 days
inline constexpr Ticks kEndTicks = 4'320'000'000'000'000'000; // of time: 50 days, half of what fits

inline Ticks to_ticks(double seconds, const char *what) {
    if (!(seconds >= 0 && seconds <= kMostSeconds))
        throw Error(Status::argument, "simulate: " + std::string(what) + " of " +
                                          std::to_string(seconds) +
                                          " s; times must lie between 0 and 10 days");
    return std::llround(seconds * kTicksPerSecond);
}

inline double to_seconds(Ticks ticks) {
    return static_cast<double>(ticks) / kTicksPerSecond;
}

} // namespace stretto::simulate
