// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/stamped_calls.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "arrival/detection.hpp"
#include "arrival/late.hpp"
#include "arrival/retune.hpp"
#include "base/clock.hpp"
#include "base/mix.hpp"
#include "calls/call_descriptor.hpp"

namespace stretto::arrival {

// Calls before the first decision; and after so many calls ranks look whether they come at other
// times than those that were decided for.
static constexpr std::uint64_t kFirstDecisionCalls = 3, kLookEveryCalls = 4;
// The first call that an algorithm runs fills what it needs, memory and windows: it says little of
// what the others take.  How many of those count at most.
static constexpr std::uint64_t kWarmUpCalls = 1, kCountedCalls = 3;
// Where the synchronous choice runs the calls, one of so many says when ranks came: it costs
// messages.
static constexpr std::uint64_t kQuietEveryCalls = 4;

StampedCalls::StampedCalls(const ArrivalParts &parts, Phases &phases)
    : ArrivalCalls(parts), decisions_(*parts.decisions, parts.segment.header().key, parts.job_ranks,
                                      parts.rank, parts.progress_of_all),
      prewarm_(*parts.decisions, parts.connections), phases_(phases) {}

ArrivalCalls::Then StampedCalls::before(calls::HookedCall &call, ArrivalState &state) {
    came_ = now_ns();
    prewarm_.end();
    stamps_.assign(static_cast<std::size_t>(parts_.segment.ranks()), {});
    if (phases_.end(state, came_))
        state.edges = 1;
    const Then then = select_plan(call.request, call.entry, state) ? Then::play : Then::next;
    // The plan is the same on all ranks, and by that they know whether this call carries stamps.
    stamped_ = state.announced.plays || state.calls % state.every == 0;
    if (!stamped_)
        return then;
    call.companion.emplace(stamps(state));
    call.as_ranks_arrive = true;         // nothing that the caller has started
    parts_.calls.internal.count_next(1); // the stamps, behind the vector
    return then;
}

// True if late ranks, or what ranks announce, decide the plan of this call.
bool StampedCalls::select_plan(const Request &request, calls::CallEntry &entry,
                               ArrivalState &state) {
    if (state.announced.listens(state.calls))
        select_announced(request, entry, state);
    else if (state.selected.latecomers > 0)
        select_detected(request, entry, state);
    else if (state.announced.plays)
        select_steady(request, entry, state);
    else
        return !state.selected.algorithm.empty();
    return true;
}

// The vector goes first: how far that is, is what its writers must hear of before all have come.
calls::HookedCall::Companion StampedCalls::stamps(ArrivalState &state) {
    stamps_[static_cast<std::size_t>(parts_.rank)] = {parts_.clock.common(came_), state.took,
                                                      std::exchange(state.edges, 0)};
    Request request;
    request.collective = schedule::Collective::allgather;
    request.input = nullptr; // in place
    request.output = stamps_.data();
    request.count = sizeof(Stamp) / size_of(Dtype::i64);
    request.dtype = Dtype::i64;
    request.internal = true;
    const calls::CallEntry &entry = parts_.calls.cache.entry(request);
    engine::Call call = parts_.calls.cache.call(request, entry);
    call.descriptor.packed = entry.packed | calls::kAsRanksArriveFlag;
    call.fingerprint = mix(call.fingerprint, calls::kAsRanksArriveFlag);
    return {call, parts_.calls.internal.tally()};
}

void StampedCalls::played(calls::HookedCall &call, ArrivalState &state) {
    if (stamped_)
        state.took = call.on_trial ? kUnknown : static_cast<std::int64_t>(now_ns() - came_);
}

void StampedCalls::after(calls::HookedCall &call, ArrivalState &state) {
    if (stamped_) {
        learn(call, state);
    } else {
        ++state.calls;
        adopt(call, state);
        expect_next(call.request, state);
    }
    prewarm_.expect_next(state, came_, *call.entry.plan, vector_bytes(call.request));
}

// Whether ranks are expected at other times than those that were decided for.
static bool moved(const std::vector<double> &expected, const std::vector<double> &decided_for,
                  double margin) {
    constexpr double kWorthwhileShare = 0.25;
    if (decided_for.empty())
        return true;
    const double last =
        std::max(*std::ranges::max_element(expected), *std::ranges::max_element(decided_for));
    double most = 0;
    for (std::size_t rank = 0; rank < expected.size(); ++rank)
        most = std::max(most, std::abs(expected[rank] - decided_for[rank]));
    return most > std::max(kWorthwhileShare * last, margin);
}

// Of the last calls but the latest, whose time is not known, how many say what the steady plan
// takes.
static std::size_t timed_calls(const ArrivalState &state) {
    const bool announced =
        state.announced.last != 0 && state.announced.last + kCountedCalls + 1 >= state.calls;
    const std::uint64_t steady = state.history.calls() - state.selected_since;
    return announced || steady < kWarmUpCalls + 1
               ? 0
               : std::min(steady - kWarmUpCalls - 1, kCountedCalls);
}

// Of calls since the last decision: whether the rank came last that was expected last then.
static void note_misses(ArrivalState &state) {
    constexpr std::size_t kRememberedCalls = 16;
    const double margin = state.selected.margin;
    if (margin <= 0 || state.decided_for.empty() ||
        *std::ranges::max_element(state.decided_for) < margin)
        return;
    const std::deque<cost::Arrivals> &recent = state.history.recent();
    const std::uint64_t since = state.history.calls() - state.decided_at;
    for (std::size_t at = recent.size() - std::min<std::uint64_t>(since, recent.size());
         at < recent.size(); ++at)
        state.missed.push_back(missed(state.decided_for, recent[at], margin));
    while (state.missed.size() > kRememberedCalls)
        state.missed.pop_front();
}

static double part_missed(const ArrivalState &state) {
    const auto misses = std::ranges::count(state.missed, true);
    return misses == 0 ? 0 : static_cast<double>(misses) / static_cast<double>(state.missed.size());
}

// Late ranks are priced by the coordinator's agent, while its rank computes: what it decides is
// selected after the next call.
void StampedCalls::decide(calls::HookedCall &call, ArrivalState &state) {
    const std::uint64_t calls = state.history.calls();
    if (state.pending || calls < kFirstDecisionCalls ||
        (calls - kFirstDecisionCalls) % kLookEveryCalls != 0)
        return;
    std::vector<double> expected = state.history.expected();
    std::vector<cost::Arrivals> recent(state.history.recent().begin(),
                                       state.history.recent().end());
    std::vector<double> shape = shape_of(recent);
    const calls::Chosen synchronous = this->synchronous(call.request, state);
    // Plans that are forced and made for these arrivals need no prices.
    const bool settled = calls < state.decided_at + state.due_after ||
                         (synchronous.forced && !state.selected.algorithm.empty());
    if (settled && !moved(expected, state.decided_for, state.selected.margin) &&
        !moved(shape, state.decided_shape, state.selected.margin))
        return;
    note_misses(state);
    state.decided_at = calls;
    state.decided_shape = shape;
    const select::Situation here = parts_.calls.selection.free_situation(call.request);
    if (synchronous.forced) {
        change_rule(call, state, expected,
                    forced_late(here, synchronous.algorithm, expected, recent));
        return;
    }
    if (state.selected.margin > 0 &&
        std::max(wait(expected), wait(shape)) < state.selected.margin) {
        change_rule(call, state, expected,
                    choose_late(here, synchronous.algorithm, expected, recent, state.selected));
        return;
    }
    const std::uint64_t key = decisions_.key_of(state, Decisions::About::rule);
    state.pending = {key, expected};
    if (!decisions_.coordinates(state))
        return;
    const std::deque<double> &elapsed = state.history.elapsed();
    Retune retune{here,
                  synchronous.algorithm,
                  state.selected,
                  std::move(expected),
                  std::move(recent),
                  {elapsed.begin(), elapsed.end()},
                  timed_calls(state),
                  state.feedback};
    retune.missed = part_missed(state);
    decisions_.service().decide_by(key,
                                   [retune = std::move(retune)](const DecisionService::Heard &) {
                                       return DecisionService::Work([retune] {
                                           return retune.decide(membership::kMostDecisionBytes);
                                       });
                                   });
    decisions_.service().decide_before(key, now_ns());
}

// After the call that follows a decision.
void StampedCalls::adopt(calls::HookedCall &call, ArrivalState &state) {
    if (!state.pending)
        return;
    const ArrivalState::Pending decision = *std::exchange(state.pending, std::nullopt);
    const std::string text = decisions_.decided(decision.key, state);
    decisions_.forget_before(decision.key);
    change_rule(call, state, decision.expected,
                decoded(text, parts_.calls.selection.free_situation(call.request), state.selected,
                        decision.expected));
}

void StampedCalls::change_rule(calls::HookedCall &call, ArrivalState &state,
                               const cost::Arrivals &expected, const Late &next) {
    if (!ArrivalCalls::change_rule(state, expected, next))
        return;
    if (state.announced.listens(state.calls))
        state.announced.plays = true; // the next call asks for its plan, which may not be this
    else
        parts_.calls.cache.select_plan(call.request, call.entry, steady(call.request, state));
}

// Whether the synchronous choice runs the calls, and is likely to go on: since ranks come together
// as a rule, or since nothing was found better for the times at which they come; and they did so to
// the last call as well.
static bool is_quiet(const ArrivalState &state) {
    constexpr double kLookFactor = 4; // margins
    const double margin = state.selected.margin;
    if (!state.selected.algorithm.empty() || state.announced.plays || margin <= 0)
        return false;
    const std::deque<cost::Arrivals> &recent = state.history.recent();
    const auto together =
        std::ranges::count_if(recent, [&](const auto &each) { return wait(each) < margin; });
    const bool confirmed = state.due_after > kDecisionEveryCalls;
    const double steady = confirmed ? wait(state.decided_shape) : 0;
    return (confirmed || 2 * static_cast<std::size_t>(together) > recent.size()) &&
           wait(recent.back()) < steady + kLookFactor * margin;
}

// After each call that carries stamps.
void StampedCalls::learn(calls::HookedCall &call, ArrivalState &state) {
    ++state.calls;
    state.announced.asks =
        std::ranges::any_of(stamps_, [](const auto &each) { return each.edges != 0; });
    const std::uint64_t before = state.history.calls();
    state.history.add(stamps_);
    adopt(call, state);
    if (state.history.calls() != before) {
        phases_.came(state.history.recent().back()[static_cast<std::size_t>(parts_.rank)]);
        state.announced.note(state.history);
        decide(call, state);
        state.every = is_quiet(state) ? kQuietEveryCalls : 1;
    }
    expect_next(call.request, state);
}

void StampedCalls::expect_next(const Request &request, ArrivalState &state) {
    NextCall next;
    if (state.announced.listens(state.calls) && state.selected.margin > 0)
        next = expect_announcements(request, state);
    else if (state.selected.latecomers > 0 && decisions_.coordinates(state))
        expect_detection(state);
    phases_.expect(state, next);
}

} // namespace stretto::arrival
