// SPDX-License-Identifier: BSD-3-Clause
// What serves calls of a kind from now on, by when ranks came to the last ones: decided by the
// arbiter's agent, while ranks compute, and sealed.  One rank prices what the others would price
// as well.  Where only the arbiter knows when ranks came (rooted.cpp), the order is sealed, too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/cost_feedback.hpp"
#include "select/late.hpp"

namespace stretto::comm {

// All by which it is decided.
struct Retune {
    select::Situation situation;
    std::string balanced; // the choice if all come at once
    select::Late serves;  // so far
    select::Arrivals expected;
    // Of the last calls, the latest last; what each took, the mean over ranks in seconds, of all
    // but the latest.
    std::vector<select::Arrivals> recent;
    std::vector<double> elapsed;
    std::size_t served = 0; // of those but the latest, how many of the last are by what serves
    std::shared_ptr<CostFeedback> feedback;
    bool forced = false; // what serves if all come at once was asked for by name
    double missed = 0;   // as of select::LateRule

    // What to seal, in at most so many bytes; "" if all stays as it is.
    std::string decide(std::size_t most_bytes) const;
};

// What was decided, for those who know what served and, where all do, what was expected.
// Throws Error(internal) for what `decide` does not write.
select::Late reviewed(std::string_view text, const select::Situation &situation,
                      const select::Late &serves, const select::Arrivals &expected);

} // namespace stretto::comm
