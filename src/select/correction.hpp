// SPDX-License-Identifier: BSD-3-Clause
// What was measured corrects what a model says.
//
//   candidate    priced at 64 KiB   measured / priced at   16 KiB   256 KiB   so at 64 KiB
//   ring                    2 ms                              1.2       0.9         1.04
//   circulant               3 ms                              0.8         -            -
//   direct                  5 ms                                -         -         1.04
//
// A candidate that was measured at a size near enough has its price multiplied by measured / priced
// there, between two sizes by what lies between, logarithms over logarithms.  If the model is wrong
// about all of them alike, by the processor's speed for instance, those that were not measured must
// not look better or worse for it: they are multiplied by the geometric mean of the others.
//
// Of one algorithm at one size the geometric mean of all its timings counts: `stretto tune` has two
// of each, of ranks that come together and of ranks that come late.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "select/candidates.hpp"
#include "select/select.hpp"

namespace stretto::select {

// A size is near if there are measured ones on both sides of it, this factor apart at most; or one
// within the other factor.
inline constexpr double kMostApartFactor = 16, kMostBeyondFactor = 2;

struct Correction {
    double factor = 1;     // of the price
    bool measured = false; // near this size
};

// For each candidate, in their order; none if nothing near was measured.
std::vector<Correction> corrections(const Situation &situation, const std::vector<Priced> &all);

// Of ranks on one host, where no model decides: the algorithm that was measured to be fastest near
// this size, if it was by a twentieth faster than what would serve otherwise; nothing if that one
// was not measured, or none was faster.
std::optional<Choice> faster_as_measured(const Situation &situation, const std::string &otherwise);

// Seconds that calls by this algorithm take near this size, by what was measured there alone;
// nothing if it was not.
std::optional<double> measured_seconds(const Situation &situation, const std::string &algorithm);

} // namespace stretto::select
