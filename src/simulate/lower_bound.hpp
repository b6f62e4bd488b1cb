// SPDX-License-Identifier: BSD-3-Clause
// A lower bound for every allreduce in the model of simulate.hpp, whatever its schedule.
#pragma once

#include <cstddef>
#include <vector>

#include "simulate/simulate.hpp"

namespace stretto::simulate {

struct LowerBound {
    double mean_elapsed; // seconds: of the mean of finish - arrival
    double last_finish;  // seconds since time 0: of the last finish
};

// For a vector of `bytes` and arrivals in seconds, one for each of P >= 1 ranks.  Reductions cost
// nothing here.  Holds where a rank receives nothing before it arrives: all modes but eager.
//
// Two arguments.  With beta m the time of one whole vector through a port:
//
//   Counting.  At any time t the contributions lie with n ranks at least: those that have yet to
//   arrive, and one more if any rank has, which may hold everything.  After t each byte needs
//   n - 1 receives that combine and P - 1 that tell the result.  So all ports together receive for
//   at least (n + P - 2) beta m, each only between max(t, its arrival) and its finish.
//
//   Last arrival.  What the last rank contributes must reach all others, and the result it: a whole
//   vector through each in-port, and one alpha for each doubling of the ranks that have it.
//
// Throws Error(argument) if there are no arrivals.
LowerBound lower_bound(std::size_t bytes, const std::vector<double> &arrivals,
                       const Network &network);

} // namespace stretto::simulate
