// SPDX-License-Identifier: BSD-3-Clause
// What can run a call: every algorithm of the collective, with the parameters that are worth a
// look, and what each costs over the network that ranks are on.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "cost/elapsed.hpp"
#include "cost/price.hpp"
#include "select/select.hpp"

namespace stretto::select {

// By the defaults first; the generalized algorithms also over groups that fit the number of ranks
// and the hosts, and with every number of steps.
std::vector<algorithms::Choice> candidates(const algorithms::Algorithm &algorithm,
                                           const Situation &situation);

// Elements of the vector that the situation is about: where every rank has a part, of which all
// are equal, it may be a little longer than the bytes.
std::size_t elements(const Situation &situation);

struct Priced {
    algorithms::Choice choice;
    std::string name;     // with parameters
    std::string excluded; // why it cannot run the call; "" if it can, and then:
    cost::Price price;
};

// How much is priced.
struct Effort {
    // What shows to take more than so many times the seconds of another is excluded: many do at
    // once.
    double within = std::numeric_limits<double>::infinity();
    // All candidates together (price.hpp), those with least first.  What would take more is
    // excluded.
    std::size_t work = 1u << 28;
};

// What a choice is worth.  Whoever is three times as dear as another has no chance.  The first
// choice at P = 1024 is made in 15 to 56 ms of a processor so, wherever ranks are.
inline constexpr Effort kQuick{.within = 3, .work = 1u << 20};

// What a candidate costs over the network; throws Error(unsupported) if that takes too long to say.
cost::Price price_of(const schedule::Schedule &made, const Situation &situation);

// The same when positions come at different times, for each of several cases.
std::vector<cost::Elapsed> elapsed_of(const schedule::Schedule &made, const Situation &situation,
                                      std::span<const cost::Arrivals> cases);

// All candidates, in the order of the registry.
std::vector<Priced> priced(const Situation &situation, const Effort &effort = {});

} // namespace stretto::select
