// SPDX-License-Identifier: BSD-3-Clause
// Measured times of calls correct prices.
//
//   candidate    priced at 64 KiB   measured / priced at   16 KiB   256 KiB   so at 64 KiB
//   ring                    2 ms                              1.2       0.9         1.04
//   circulant               3 ms                              0.8         -            -
//   direct                  5 ms                                -         -         1.04
//
// If a candidate was measured at a size near enough, its price is multiplied by measured / priced
// there; between two sizes the factor is interpolated, logarithms over logarithms.  The model may
// be wrong about all candidates alike, by the processor's speed for instance.  So that candidates
// without measurements look neither better nor worse for that, their prices are multiplied by the
// geometric mean of the other factors.
//
// If one algorithm has several timings at one size, their geometric mean counts: `stretto tune`
// measures ranks that come together and ranks that come late.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "select/candidates.hpp"
#include "select/select.hpp"

namespace stretto::select {

// A size is near if there are measured sizes on both sides of it, at most kMostApartFactor apart;
// or one measured size within kMostBeyondFactor.
inline constexpr double kMostApartFactor = 16, kMostBeyondFactor = 2;

struct Correction {
    double factor = 1;     // of the price
    bool measured = false; // near this size
};

// For each candidate, in their order; empty if nothing was measured near this size.
std::vector<Correction> corrections(const Situation &situation, const std::vector<Priced> &all);

// For ranks on one host, where no model decides: the algorithm that was measured to be fastest near
// this size, if it was faster than `otherwise` by a twentieth; nothing if `otherwise` was not
// measured, or none was faster.
std::optional<Choice> faster_as_measured(const Situation &situation, const std::string &otherwise);

// The measured seconds of calls by this algorithm near this size; nothing if there are none.
std::optional<double> measured_seconds(const Situation &situation, const std::string &algorithm);

} // namespace stretto::select
