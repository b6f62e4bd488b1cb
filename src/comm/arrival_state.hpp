// SPDX-License-Identifier: BSD-3-Clause
// What serves a call, and what a rank knows of the calls of a kind that are served as ranks arrive.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "arrival/history.hpp"
#include "comm/announced.hpp"
#include "comm/cost_feedback.hpp"
#include "comm/plan_prefetch.hpp"
#include "schedule/schedule.hpp"
#include "select/imported.hpp"
#include "select/late.hpp"
#include "select/late_rank_choice.hpp"
#include "select/select.hpp"

namespace stretto::comm {

struct Chosen : select::Choice {
    std::shared_ptr<const select::Imported> imported; // null: an algorithm of the library
    std::vector<schedule::Position> order = {};       // the rank at each position; empty: in order
    bool forced = false;
};

struct ArrivalState {
    arrival::History history;
    // Of so many calls one carries stamps: all, or where ranks come together, few.
    std::uint64_t every = 1;
    // Of this rank: what the last call with stamps took, in nanoseconds; and 1 if it has told of a
    // phase since.
    std::int64_t took = arrival::kUnknown, edges = 0;
    std::shared_ptr<CostFeedback> feedback; // of the arbiter's rank
    select::Late serves;
    // What the arbiter's agent decides just now, by its key, and for what: it serves after the next
    // call.
    struct Decision {
        std::uint64_t key;
        select::Arrivals expected;
    };
    std::optional<Decision> pending;
    // The last decision: at which call, for what, and after how many calls the next is due.
    std::uint64_t decided_at = 0, due_after = 0;
    std::uint64_t serves_since = 0;    // the number of the call before its first
    std::vector<double> decided_for;   // seconds, by rank
    std::vector<double> decided_shape; // the same by position, whoever comes as that
    std::deque<bool> missed; // of the last calls, whether another rank came last than was expected
    std::uint64_t number = 0, calls = 0; // among those that are watched; so far
    std::uint64_t came = 0;         // this rank, to the last one, by now_ns(); 0: there is none
    std::optional<Chosen> balanced; // the choice without arrivals, once it was needed
    AnnouncedArrivals told;
    std::shared_ptr<PlanPrefetch> preparation; // of the next call
    // Of ranks that share memory: who the site's plan takes for late, by LateRankDetector.
    select::LateRankChoice late_rank_choice;
    int latecomer = -1;
};

// A call that may end the phase, if ranks ask before it; what was told of this rank.
struct Next {
    bool asks = false;
    std::uint64_t key = 0;
    int arbiter = 0;
    double margin = 0; // seconds: less is not worth telling
    // Nanoseconds after the first rank at which all expect this one; how much later it will
    // come, as it has told.
    std::int64_t usually = 0, told = 0;
    // The arbiter is this rank; and its agent knows when to decide.
    bool decides = false, timed = false;
};

} // namespace stretto::comm
