// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/shared_memory_calls.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/algorithm.hpp"
#include "arrival/detection.hpp"
#include "base/clock.hpp"

namespace stretto::arrival {

using calls::Chosen, calls::Request;
using transport::LateRankDetector;

static constexpr std::string_view kForLateRanks = "late_last";

bool SharedMemoryCalls::made_for_arrivals(const Chosen &chosen) {
    return algorithms::name_in(chosen.algorithm) == kForLateRanks;
}

// Where that rank comes last, or none does.
Chosen SharedMemoryCalls::choice(const Request &request, ArrivalState &state) const {
    Chosen chosen = synchronous(request, state);
    if (state.latecomer == LateRankDetector::kNoRank)
        return chosen;
    apply({.algorithm = chosen.forced ? chosen.algorithm : std::string(kForLateRanks),
           .order = late_last(parts_.segment.ranks(), std::array{state.latecomer}),
           .why = "one rank comes later than the others, and which, the call shows"},
          chosen);
    return chosen;
}

void SharedMemoryCalls::resume(const Request &request, ArrivalState &state, Chosen &chosen) {
    chosen = choice(request, state);
}

ArrivalCalls::Then SharedMemoryCalls::before(calls::HookedCall &call, ArrivalState &state) {
    plan_bytes_ = parts_.calls.plans.bytes();
    const bool forced = first_choice(call.request, state).forced;
    const bool waits = forced || state.late_rank_choice.waits();
    detector_.come(now_ns());
    const int latecomer = waits ? detector_.latecomer(state.late_rank_choice.grace(),
                                                      longest_wait_ns(), parts_.progress_of_all)
                                : LateRankDetector::kNoRank;
    if (latecomer != std::exchange(state.latecomer, latecomer))
        parts_.calls.cache.select_plan(call.request, call.entry, choice(call.request, state));
    call.as_ranks_arrive = true; // a rank that does not count itself in makes another call
    return Then::play;
}

void SharedMemoryCalls::after(calls::HookedCall &, ArrivalState &state) {
    // A call for which plans were made says little of what others take.
    detector_.leave(now_ns(), parts_.calls.plans.bytes() == plan_bytes_);
    // What the last such call took, which may have been of another kind, is known only now.
    if (last_ != nullptr)
        last_->late_rank_choice.took(detector_.last_took());
    last_ = &state;
    state.late_rank_choice.add(detector_.gap(), state.latecomer != LateRankDetector::kNoRank);
}

} // namespace stretto::arrival
