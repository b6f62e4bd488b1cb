// SPDX-License-Identifier: BSD-3-Clause
// The candidates of a call: every algorithm of the collective, with the parameters that are worth
// pricing, and the price of each over the network of the ranks.
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

// First with the default parameters; then the generalized algorithms over groups that fit the
// number of ranks and the hosts, with every number of steps.
std::vector<algorithms::Choice> candidates(const algorithms::Algorithm &algorithm,
                                           const Situation &situation);

// Elements of the vector of the situation.  If every rank has a part, and all parts are equal, this
// may be slightly more than the situation's bytes.
std::size_t elements(const Situation &situation);

struct Priced {
    algorithms::Choice choice;
    std::string name;     // with parameters
    std::string excluded; // why it cannot run the call; "" if it can, and then:
    cost::Price price;
};

// Limits of pricing.
struct Effort {
    // A candidate is excluded as soon as it is known to take more than `within` times the seconds
    // of another one.
    double within = std::numeric_limits<double>::infinity();
    // For all candidates together (price.hpp), those with the least work first.  Candidates beyond
    // the limit are excluded.
    std::size_t work = 1u << 28;
};

// For a choice: a candidate of three times the price of another one is never chosen.  With these
// limits the first choice at P = 1024 takes 15 to 56 ms of a processor where each rank has a host
// of its own, and up to 0.15 s where hosts have several, as there are compositions as well.
inline constexpr Effort kQuick{.within = 3, .work = 1u << 20};

// The price of a candidate over the network; throws Error(unsupported) if that takes too much work.
cost::Price price_of(const schedule::Schedule &made, const Situation &situation);

// The same if positions come at different times, for each of several cases.
std::vector<cost::Elapsed> elapsed_of(const schedule::Schedule &made, const Situation &situation,
                                      std::span<const cost::Arrivals> cases);

// All candidates, in the order of the registry.
std::vector<Priced> priced(const Situation &situation, const Effort &effort = {});

} // namespace stretto::select
