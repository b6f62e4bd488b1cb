// SPDX-License-Identifier: BSD-3-Clause
// The times of a schedule if ranks come at different times, by the model of price.hpp, with the
// rings of positions (streams.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cost/indexed_network.hpp"

namespace stretto::cost {

// The arrival of each position, in seconds of one clock; the first arrives at 0.
using Arrivals = std::vector<double>;

struct Elapsed {
    double mean = 0; // seconds: of finish - arrival, over all positions (Proficz 2018, section 3)
    double last = 0; // seconds: the last finish
};

// Gives one result for each case.  Throws as price() does, and Error(argument) if the number of a
// case's arrivals is not that of the positions.
std::vector<Elapsed> elapsed(const schedule::Schedule &schedule, std::size_t count,
                             std::size_t element, std::size_t slice, const IndexedNetwork &network,
                             std::span<const Arrivals> cases, const Limits &limits = {});

} // namespace stretto::cost
