// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/reported_calls.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "arrival/history.hpp"
#include "arrival/reports.hpp"
#include "arrival/retune.hpp"
#include "base/clock.hpp"

namespace stretto::arrival {

// Calls to the first decision; from one to the next, at least and at most; and from the last of
// which ranks report to that which asks, so that the reports of ranks that come behind the others
// are there.
static constexpr std::uint64_t kFirstAskCalls = 12, kLeastAfterCalls = 16, kMostAfterCalls = 32,
                               kReportAheadCalls = 4;
static constexpr std::uint64_t kReportedCalls = History::kCalls;
static constexpr std::size_t kEnoughCalls = 3; // of these
static_assert(kFirstAskCalls > kReportedCalls + kReportAheadCalls);

// Decided where too little was reported so far: clocks are compared only after a while.
static constexpr std::string_view kNotYet = "?";

ReportedCalls::ReportedCalls(const ArrivalParts &parts)
    : ArrivalCalls(parts), decisions_(*parts.decisions, parts.segment.header().key, parts.job_ranks,
                                      parts.rank, parts.progress),
      prewarm_(*parts.decisions, parts.connections) {}

// The thread keeps the call order, also while it waits for a decision: a nonblocking call of
// another thread may be the next one of this kind.
ArrivalCalls::Then ReportedCalls::before(calls::HookedCall &call, ArrivalState &state) {
    call.arrived = now_ns();
    state.took = last_took(call.entry, state);
    const std::uint64_t due = state.decided_at + state.due_after;
    prewarm_.end();
    if (state.due_after == 0)
        expect_decision(call.request, state, kFirstAskCalls);
    else if (state.calls == due)
        adopt(call, state);
    else if (state.calls + kReportAheadCalls + kReportedCalls >= due &&
             state.calls + kReportAheadCalls < due)
        report(state, call.arrived);
    else if (state.calls + 1 == due && decisions_.coordinates(state))
        decisions_.service().decide_before(decisions_.key_of(state, Decisions::About::rule, due),
                                           call.arrived);
    ++state.calls;
    return Then::play;
}

void ReportedCalls::after(calls::HookedCall &call, ArrivalState &state) {
    prewarm_.expect_next(state, call.arrived, *call.entry.plan, vector_bytes(call.request));
}

// What the call before took, if it has ended: the next one may begin earlier.
std::int64_t ReportedCalls::last_took(const calls::CallEntry &entry, ArrivalState &state) const {
    const engine::Tally now = parts_.calls.cache.tally_of(entry);
    engine::Tally before = std::exchange(state.tally, now);
    if (now.calls < before.calls) // it was begun anew
        before = {};
    const std::uint64_t ended = now.calls - before.calls;
    const bool last_ended = ended == 1 && state.in_flight == 1;
    state.in_flight = 1 + state.in_flight - std::min(ended, state.in_flight);
    if (!last_ended || now.timed_calls != before.timed_calls + 1)
        return kUnknown;
    const std::uint64_t ticks =
        now.working_ticks + now.waiting_ticks - (before.working_ticks + before.waiting_ticks);
    return static_cast<std::int64_t>(static_cast<double>(ticks) * ns_per_tick());
}

void ReportedCalls::report(const ArrivalState &state, std::uint64_t came) {
    const int coordinator = decisions_.coordinator_of(state);
    decisions_.service().notify(decisions_.key_of(state, Decisions::About::came), coordinator,
                                parts_.clock.common(came));
    decisions_.service().notify(decisions_.key_of(state, Decisions::About::took), coordinator,
                                state.took);
}

void ReportedCalls::adopt(calls::HookedCall &call, ArrivalState &state) {
    const std::uint64_t key = decisions_.key_of(state, Decisions::About::rule);
    const std::string text = decisions_.decided(key, state);
    decisions_.forget_before(key);
    if (text == kNotYet) {
        expect_decision(call.request, state, kFirstAskCalls);
        return;
    }
    const select::Situation here = parts_.calls.selection.free_situation(call.request);
    if (change_rule(state, {}, decoded(text, here, state.selected, {}))) {
        parts_.calls.cache.select_plan(call.request, call.entry, steady(call.request, state));
        state.tally = parts_.calls.cache.tally_of(call.entry);
    }
    expect_decision(call.request, state,
                    std::clamp(state.due_after, kLeastAfterCalls, kMostAfterCalls));
}

// After so many calls.  At the coordinator its agent may be asked for it from now on: this rank may
// be the one that comes last to each call.
void ReportedCalls::expect_decision(const calls::Request &request, ArrivalState &state,
                                    std::uint64_t after) {
    state.decided_at = state.calls;
    state.due_after = after;
    if (!decisions_.coordinates(state))
        return;
    const std::uint64_t due = state.calls + after, first = due - kReportAheadCalls - kReportedCalls;
    const calls::Chosen synchronous = this->synchronous(request, state);
    Retune retune{.situation = parts_.calls.selection.free_situation(request),
                  .synchronous = synchronous.algorithm,
                  .selected = state.selected,
                  .expected = {},
                  .recent = {},
                  .elapsed = {},
                  .feedback = state.feedback,
                  .forced = synchronous.forced,
                  .reported = true};
    Reports reports{decisions_.key_of(state, Decisions::About::came, first),
                    decisions_.key_of(state, Decisions::About::took, first), decisions_.ranks()};
    decisions_.service().decide_by(
        decisions_.key_of(state, Decisions::About::rule, due),
        [retune = std::move(retune), reports = std::move(reports)](
            const DecisionService::Heard &heard) -> DecisionService::Outcome {
            const History history = reports.taken_from(heard.notices);
            if (history.recent().size() < kEnoughCalls)
                return membership::Answer(std::string(kNotYet));
            Retune full = retune;
            full.expected = history.expected();
            full.recent.assign(history.recent().begin(), history.recent().end());
            full.elapsed.assign(history.elapsed().begin(), history.elapsed().end());
            // The latest ones of which it is known what they took; one plan ran them all.
            const auto known =
                std::ranges::find_if(full.elapsed.rbegin() + 1, full.elapsed.rend(),
                                     [](double seconds) { return std::isnan(seconds); });
            full.by_selected = static_cast<std::size_t>(known - full.elapsed.rbegin()) - 1;
            return DecisionService::Work(
                [full = std::move(full)] { return full.decide(membership::kMostDecisionBytes); });
        });
}

} // namespace stretto::arrival
