// SPDX-License-Identifier: BSD-3-Clause
// What an algorithm may know of ranks that come at different times when it chooses its parameters
// for them (Algorithm::for_arrivals).  All ranks must compute with the same numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/algorithm.hpp"

namespace stretto::algorithms {

struct Lateness {
    std::vector<double> arrivals; // of positions, ascending: seconds of one clock
    double spread = 0;            // seconds: how far single arrivals are from these
    std::size_t bytes = 0;        // of the vector
    std::size_t elements = 1;
    double message = 0; // seconds a message takes beside its bytes
    double byte = 0;    // seconds a byte takes to be sent
    double reduce = 0;  // and to be reduced

    Position ranks() const { return static_cast<Position>(arrivals.size()); }
    // Seconds in which the vector goes through a port.
    double vector() const { return byte * static_cast<double>(bytes); }
    // Positions that come after the longest time in which nobody comes; at least 1 of 2 or more.
    //
    //   arrivals 0 1 2 9 10:  2
    Position late() const;
    // Blocks or segments with which a pipeline of `steps` steps is fastest: at most one an element.
    std::int64_t pieces(double steps) const;
};

// The parameter of those that take some ranks for late.
inline constexpr Parameter kLate = {
    .name = "late",
    .fallback = 1,
    .least = 1,
    .most = 4096,
    .meaning = "last positions that the others do not wait for",
    .most_at = [](Position ranks) { return std::max<std::int64_t>(ranks - 1, 1); }};

} // namespace stretto::algorithms
