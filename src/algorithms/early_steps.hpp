// SPDX-License-Identifier: BSD-3-Clause
// How many steps each position of a pre-reduced ring may make before the last one comes, from when
// they come (`ahead` of allreduce/pre_reduced_ring.cpp).
#pragma once

#include <cstddef>
#include <span>

#include "algorithms/algorithm.hpp"

namespace stretto::algorithms {

// Seconds of a step of a ring: to transfer a chunk and reduce it.
double ring_step(Position ranks, std::size_t bytes, double alpha, double beta, double gamma = 0);

// `arrivals` of positions, ascending, in seconds of one clock; `step` seconds.  Position p is one
// step further ahead than the next one, q, if after so many steps the last one would still be away
// when counted from the arrival of q: a message is on its way only once its receiver is there
// (counted from p's own arrival, as one may read it, it would be slower than a ring at times).
//
//   arrivals 0 0 0 2, step 1:  ahead 2 1 0 0
//
// `guard` seconds are taken off the wait, as estimates err: with 2 to 4 of their standard
// deviations at most 3 % were lost against a ring in a simulation (10 ms, where the ring takes 68),
// without 13.  Without wait all are 0, which is the ring.  A `step` that is too long gains less;
// one too short loses, 11 % in the same simulation by a quarter of the truth.
//
// All ranks must compute with the same numbers: who differs in one step sends what nobody waits
// for.  Throws Error(argument) if arrivals do not ascend, or a step takes no time.
Value early_steps(std::span<const double> arrivals, double step, double guard = 0);

} // namespace stretto::algorithms
