// SPDX-License-Identifier: BSD-3-Clause
// Which plan runs calls of a kind from now on, by when ranks came to the last ones.  The
// coordinator's agent decides it, while ranks compute: one rank prices what the others would price
// as well.  If only the coordinator knows when ranks came (reported_calls.hpp), it decides the
// order of ranks, too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "arrival/cost_feedback.hpp"
#include "arrival/late.hpp"

namespace stretto::arrival {

// All by which it is decided.
struct Retune {
    select::Situation situation;
    std::string synchronous; // the choice if all come together
    Late selected;           // so far
    cost::Arrivals expected;
    // Of the last calls, the latest last; what each took, the mean over ranks in seconds, of all
    // but the latest.
    std::vector<cost::Arrivals> recent;
    std::vector<double> elapsed;
    std::size_t by_selected = 0; // of those but the latest, how many of the last are by `selected`
    std::shared_ptr<CostFeedback> feedback;
    bool forced = false;   // the synchronous choice was asked for by name
    bool reported = false; // only the coordinator knows when ranks came
    double missed = 0;     // as of LateRule

    // The decision, in at most so many bytes; "" if all stays as it is.
    std::string decide(std::size_t most_bytes) const;
};

// What was decided, for ranks that know what was selected and, unless that was reported to the
// coordinator alone, what was expected; else `expected` is empty.
// Throws Error(internal) for what `decide` does not write.
Late decoded(std::string_view text, const select::Situation &situation, const Late &selected,
             const cost::Arrivals &expected);

} // namespace stretto::arrival
