// SPDX-License-Identifier: BSD-3-Clause
// What a rank knows of the calls of one kind whose plans are selected by when ranks arrive.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "arrival/announced.hpp"
#include "arrival/cost_feedback.hpp"
#include "arrival/history.hpp"
#include "arrival/late.hpp"
#include "arrival/late_rank_choice.hpp"
#include "arrival/plan_prefetch.hpp"
#include "calls/chosen.hpp"
#include "engine/run.hpp"

namespace stretto::arrival {

struct ArrivalState {
    History history;
    std::uint64_t number = 0; // of the kind, among those that are watched
    std::uint64_t calls = 0;  // so far
    std::uint64_t came = 0;   // this rank, to the last one, by now_ns(); 0: there is none
    // When this rank came to the last one: the tally of its entry, and how many calls were in
    // flight, that one among them.
    engine::Tally tally;
    std::uint64_t in_flight = 0;
    // One of so many calls carries stamps: all, or where ranks come together, few.
    std::uint64_t every = 1;
    // Of this rank: what the last call with stamps took, in nanoseconds; and 1 if it has called
    // edge() since.
    std::int64_t took = kUnknown, edges = 0;
    std::shared_ptr<CostFeedback> feedback; // of the coordinator's rank

    // The choice if all ranks come together, before any trial; and what is selected for the times
    // at which they come as a rule, from which call on (the number of the call before).
    std::optional<calls::Chosen> first_choice;
    Late selected;
    std::uint64_t selected_since = 0;
    // What the coordinator's agent decides just now, by its key, and for what: it is selected after
    // the next call.
    struct Pending {
        std::uint64_t key;
        cost::Arrivals expected;
    };
    std::optional<Pending> pending;
    // The last decision: at which call, for what, and after how many calls the next is due.
    std::uint64_t decided_at = 0, due_after = 0;
    std::vector<double> decided_for;   // seconds, by rank
    std::vector<double> decided_shape; // the same by position, whichever rank comes as that
    std::deque<bool> missed; // of the last calls, whether another rank came last than was expected

    AnnouncedArrivals announced;
    std::shared_ptr<PlanPrefetch> prefetch; // of the next call's plan
    // Of ranks that share memory: which rank is late by the entry's plan, or
    // LateRankDetector::kNoRank.
    LateRankChoice late_rank_choice;
    int latecomer = -1;
};

} // namespace stretto::arrival
