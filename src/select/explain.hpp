// SPDX-License-Identifier: BSD-3-Clause
// The choice, and the other algorithms: what each would cost, or why it cannot run the call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/predict.hpp"
#include "select/select.hpp"

namespace stretto::select {

struct Candidate {
    std::string algorithm;
    std::string excluded; // why it cannot run the call; "" if it can, and then:
    cost::Prediction prediction;
    // Seconds by the measured calls of the profile: between hosts the corrected price, on one host
    // the measured time.  Nothing if the profile has no calls near this size.
    std::optional<double> corrected = std::nullopt;
    bool measured = false; // whether the profile has calls by this algorithm
};

struct Explanation {
    Choice choice;
    std::string cheapest; // by prediction; a rule or measured calls may choose another one
    std::vector<Candidate> candidates; // in the order of the registry
    std::size_t count = 0;             // elements of the vector that was priced
};

// Prices all candidates, which takes too long for a call.  Throws as choose() does.
Explanation explain(const Situation &situation);

} // namespace stretto::select
