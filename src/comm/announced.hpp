// SPDX-License-Identifier: BSD-3-Clause
// Calls to which ranks are expected at other times than usual, since some have told so
// (phases.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrival/history.hpp"
#include "arrival/notices.hpp"
#include "comm/cost_feedback.hpp"
#include "select/late.hpp"

namespace stretto::comm {

// What is known of such calls of one kind; the same on all ranks.
struct AnnouncedArrivals {
    bool asks = false;                   // somebody told something before the last call
    bool serves = false;                 // the site plays what was told, not the usual
    select::Arrivals expected;           // of the call in progress, if they are not the usual ones
    std::deque<select::Arrivals> errors; // of the last that were not: what came less what was told
    std::uint64_t last = 0;              // the number of that call
    // Calls in a row of which something was told and nothing was made of it; until which call
    // nobody listens any more.
    std::uint64_t refused = 0, deaf_until = 0;
    // Of the call in progress; of the last one; and of the one before that, of which it is known
    // what it took.
    std::optional<CostSample> playing, latest, learned;

    // Whether ranks ask before a call, by how many were before it.
    bool listens(std::uint64_t calls) const { return asks && calls >= deaf_until; }
    // Something was told before a call, and it does not pay to price what serves: the more often,
    // the seldomer ranks ask, who take a round trip for it.
    void refuse(std::uint64_t calls);
    // After each call of which it is known when ranks came.
    void note(const arrival::History &history);
};

// What serves such a call, as it is sealed.
struct Sealed {
    std::string algorithm; // empty: the balanced choice
    arrival::Deviations deviations;
};
std::string to_text(const Sealed &sealed);
// Throws Error(internal) for what to_text does not write.
Sealed sealed_from(std::string_view text);

// When ranks come, if they usually do then, and these deviate, in whole margins, so that they are
// the same for what is nearly the same; nothing if none deviates by as much.  `ranks` are those of
// the job.
std::optional<select::Arrivals> arrivals_told(const select::Arrivals &usual, double margin,
                                              const std::vector<int> &ranks,
                                              const arrival::Deviations &deviations);

// When ranks come to a call for which such a text was sealed, and what serves it; nothing where
// that is the usual.  Throws Error(internal) for what no arbiter seals.
struct AnnouncedPlan {
    select::Arrivals expected;
    select::Late late;
};
std::optional<AnnouncedPlan> as_told(std::string_view text, const select::Arrivals &usual,
                                     double margin, const std::vector<int> &ranks);

// All by which the arbiter's agent decides, while its rank may be computing.
struct Forecast {
    select::Situation situation;
    std::string balanced; // the choice if all come at once
    bool forced = false;
    select::Arrivals usual;
    std::vector<int> ranks; // of the job
    select::Late serves;    // the usual
    std::deque<select::Arrivals> errors;
    std::optional<CostSample> sample;     // a new one
    std::optional<select::Arrivals> came; // to the last call, if that was served as told
    std::shared_ptr<CostFeedback> feedback;

    // What to seal for such notices, in at most so many bytes: "" if nobody comes at another time
    // than usual, kRefused if that is so and it does not pay to price what serves.
    static constexpr std::string_view kRefused = "-";
    std::string decide(const arrival::Deviations &told, std::size_t most_bytes) const;
    // Before: learns what a call took, and if it is time for that, what would have been best for
    // the last one, which then serves others like it.  It may take long.
    void learn() const;

private:
    // What serves if ranks come then, with parameters; empty: the balanced choice.  Nothing if it
    // does not pay to price that.
    std::optional<std::string> best_for(const select::Arrivals &expected) const;
    std::string price(const select::Arrivals &expected, double waits, double error) const;
};

} // namespace stretto::comm
