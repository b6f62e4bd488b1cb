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
    // Seconds by what the profile holds of measured calls: a price that they correct, or what such
    // calls took where no price decides.  Nothing if it holds none that are near.
    std::optional<double> corrected = std::nullopt;
    bool measured = false;   // this algorithm was
    bool by_request = false; // not chosen from: callers ask for it by name
};

struct Explanation {
    Choice choice;
    std::string cheapest; // by prediction; the rule or measured calls may say otherwise
    std::vector<Candidate> candidates; // in the order of the registry
    std::size_t count = 0;             // elements of the vector that was priced
};

// Prices everything: for people, not for the path of a call.  Throws as choose() does.
Explanation explain(const Situation &situation);

} // namespace stretto::select
