// SPDX-License-Identifier: BSD-3-Clause
// Late-rank detection over the network: calls to which some ranks come late, and nobody can say
// beforehand which (arrival/detection.hpp).
//
// A rank that comes asks the coordinator of the call which ranks are late.  So the coordinator's
// agent hears which ranks have come, and answers when only the late ones are missing.  Its answer
// is a decision like any other: it is the same for all, and a rank that comes late finds it there.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "arrival/detection.hpp"
#include "arrival/latecomers.hpp"
#include "arrival/stamped_calls.hpp"

namespace stretto::arrival {

// At the coordinator, for the next call.
void StampedCalls::expect_detection(const ArrivalState &state) {
    const Late &selected = state.selected;
    std::vector<int> ranks = decisions_.ranks();
    std::ranges::sort(ranks);
    const auto latecomers = std::make_shared<Latecomers>(
        std::move(ranks), static_cast<std::size_t>(selected.latecomers),
        static_cast<std::uint64_t>(selected.margin * 1e9), longest_wait_ns());
    decisions_.service().decide_by(
        decisions_.key_of(state, Decisions::About::call),
        [latecomers](const DecisionService::Heard &heard) -> DecisionService::Outcome {
            if (heard.from != membership::kNoRank)
                latecomers->came(heard.from, heard.now);
            const auto late = latecomers->who(heard.now);
            if (!late)
                return membership::Answer::not_before(latecomers->due());
            Deviations late_ranks;
            for (const int rank : *late)
                late_ranks[rank] = 0; // how late, nobody knows
            return membership::Answer(to_text(late_ranks, membership::kMostDecisionBytes));
        });
}

void StampedCalls::select_detected(const Request &request, calls::CallEntry &entry,
                                   ArrivalState &state) {
    const std::uint64_t key = decisions_.key_of(state, Decisions::About::call);
    const std::string text = decisions_.decided(key, state);
    decisions_.forget_old(key, state);
    calls::Chosen chosen = synchronous(request, state);
    if (!text.empty()) {
        std::vector<int> late;
        for (const auto &[job_rank, unknown] : deviations_from(text)) {
            const auto &ranks = decisions_.ranks();
            late.push_back(static_cast<int>(std::ranges::find(ranks, job_rank) - ranks.begin()));
        }
        apply({.algorithm = state.selected.algorithm,
               .order = late_last(parts_.segment.ranks(), late),
               .why = state.selected.why},
              chosen);
    }
    state.announced.plays = true;
    parts_.calls.cache.select_plan(request, entry, chosen);
}

} // namespace stretto::arrival
