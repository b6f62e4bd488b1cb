// SPDX-License-Identifier: BSD-3-Clause
// The data by which an algorithm chooses its parameters for ranks that arrive at different times
// (Algorithm::for_arrivals).  All ranks must compute with the same numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/algorithm.hpp"

namespace stretto::algorithms {

struct Lateness {
    std::vector<double> arrivals; // arrivals of positions, ascending: seconds of one clock
    double spread = 0;            // seconds: how much single arrivals differ from these
    std::size_t bytes = 0;        // of the vector
    std::size_t elements = 1;
    std::size_t slice = 0; // bytes of a message that travel at a time; 0: all
    double message = 0;    // seconds that a message takes in addition to its bytes
    double byte = 0;       // seconds to send a byte
    double reduce = 0;     // seconds to reduce a byte

    Position ranks() const { return static_cast<Position>(arrivals.size()); }
    // Seconds that the vector takes through a port.
    double vector() const { return byte * static_cast<double>(bytes); }
    // The number of positions that arrive after the longest gap between arrivals; at least 1 if
    // there are 2 or more.
    //
    //   arrivals 0 1 2 9 10:  2
    Position late() const;
    // The number of blocks or segments with which a pipeline of `steps` steps is fastest: at most
    // one per element.
    std::int64_t pieces(double steps) const;
    // The least number of pieces that travel in one slice each.
    std::int64_t slices() const;
};

// The parameter of algorithms that treat some ranks as late.
inline constexpr Parameter kLate = {
    .name = "late",
    .fallback = 1,
    .least = 1,
    .most = 4096,
    .meaning = "last positions that the others do not wait for",
    .most_at = [](Position ranks) { return std::max<std::int64_t>(ranks - 1, 1); }};

} // namespace stretto::algorithms
