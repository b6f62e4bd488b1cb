// SPDX-License-Identifier: BSD-3-Clause
// Calls for which some ranks announced that they will arrive earlier or later than expected
// (announced_calls.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrival/cost_feedback.hpp"
#include "arrival/history.hpp"
#include "arrival/late.hpp"
#include "arrival/notices.hpp"

namespace stretto::arrival {

// What is known of such calls of one kind; the same on all ranks.
struct AnnouncedArrivals {
    bool asks = false;       // a rank called edge() before the last call
    bool plays = false;      // the entry has the plan of one call, not the steady one
    cost::Arrivals expected; // at the call in progress, if some ranks announced others
    // Of the last calls with announcements: when each rank came, less when it was expected.
    std::deque<cost::Arrivals> errors;
    std::uint64_t last = 0; // the number of the last one
    // Calls in a row for which ranks announced something that was not worth pricing; until which
    // call ranks ask for no decision any more.
    std::uint64_t refused = 0, deaf_until = 0;
    // Of the call in progress; of the last one; and of the one before that, of which it is known
    // what it took.
    std::optional<CostSample> playing, latest, learned;

    // Whether ranks ask for a decision before a call, by how many calls were before it.
    bool listens(std::uint64_t calls) const { return asks && calls >= deaf_until; }
    // Ranks announced something, and it does not pay to price plans for it.  To ask takes a round
    // trip: the more often this happens, the seldomer ranks ask.
    void refuse(std::uint64_t calls);
    // After each call of which it is known when ranks came.
    void note(const History &history);
};

// The decision for such a call.
struct AnnouncedDecision {
    std::string algorithm; // empty: the synchronous choice
    Deviations deviations;
};
std::string to_text(const AnnouncedDecision &decision);
// Throws Error(internal) for what to_text does not write.
AnnouncedDecision announced_decision_from(std::string_view text);

// When ranks come, if they come at the steady times as a rule and announced these deviations.
// Deviations count in whole margins, so that arrivals which are nearly the same are the same.
// Nothing if no rank deviates by as much.  `ranks` are those of the job.
std::optional<cost::Arrivals> announced_arrivals(const cost::Arrivals &steady, double margin,
                                                 const std::vector<int> &ranks,
                                                 const Deviations &deviations);

// When ranks come to a call of this decision, and which plan runs it; nothing where that is the
// steady one.  Throws Error(internal) for what no coordinator decides.
struct AnnouncedPlan {
    cost::Arrivals expected;
    Late late;
};
std::optional<AnnouncedPlan> announced_plan(std::string_view text, const cost::Arrivals &steady,
                                            double margin, const std::vector<int> &ranks,
                                            const select::Situation &situation);

// All by which the coordinator's agent decides, while its rank may be computing.
struct Forecast {
    select::Situation situation;
    std::string synchronous; // the choice if all come together
    bool forced = false;
    cost::Arrivals steady;  // when ranks come as a rule
    std::vector<int> ranks; // of the job
    Late selected;          // for these arrivals
    std::deque<cost::Arrivals> errors;
    std::optional<CostSample> sample;   // a new one
    std::optional<cost::Arrivals> came; // to the last call, if ranks announced something for it
    std::shared_ptr<CostFeedback> feedback;

    // The decision for such announcements, in at most so many bytes: "" if no rank comes at another
    // time than as a rule, kRefused if some do and it does not pay to price plans.
    static constexpr std::string_view kRefused = "-";
    std::string decide(const Deviations &announced, std::size_t most_bytes) const;
    // Before: records what a call took.  If it is time for that, prices what would have been best
    // for the last call; it runs others like it then.  It may take long.
    void learn() const;

private:
    // The algorithm for such arrivals, with parameters; empty: the synchronous choice.  Nothing if
    // it does not pay to price any.
    std::optional<std::string> best_for(const cost::Arrivals &expected) const;
    std::string price(const cost::Arrivals &expected, double waits, double error) const;
};

} // namespace stretto::arrival
