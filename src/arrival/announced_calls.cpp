// SPDX-License-Identifier: BSD-3-Clause
// Ranks that know, while they compute, that they will come at another time than expected.
//
// Such a rank tells the coordinator of the coming call (phases.hpp).  Shortly before the first rank
// comes, as far as the coordinator's own phase lets it foresee that, the coordinator's agent
// decides for the announced arrivals which plan runs the call.  All ranks get the same decision,
// whatever reaches the coordinator later.  A rank that comes and has not got it asks.  Nobody waits
// for another rank's computation, only for the coordinator's agent; and only where ranks announce
// anything, which all know from an earlier call.
#include <memory>
#include <optional>
#include <utility>

#include "arrival/announced.hpp"
#include "arrival/stamped_calls.hpp"

namespace stretto::arrival {

using calls::Chosen;

// At the coordinator, for the next call; and for its other ranks.
NextCall StampedCalls::expect_announcements(const Request &request, ArrivalState &state) {
    NextCall next;
    next.asks = true;
    next.key = decisions_.key_of(state, Decisions::About::call);
    next.coordinator = decisions_.coordinator_of(state);
    next.margin = state.selected.margin;
    const double expected = state.decided_for[static_cast<std::size_t>(parts_.rank)];
    next.expected = static_cast<std::int64_t>(expected * 1e9);
    next.decides = decisions_.coordinates(state);
    if (next.decides) {
        const Chosen synchronous = this->synchronous(request, state);
        Forecast forecast{parts_.calls.selection.free_situation(request),
                          synchronous.algorithm,
                          synchronous.forced,
                          state.decided_for,
                          decisions_.ranks(),
                          state.selected,
                          state.announced.errors,
                          std::exchange(state.announced.learned, {}),
                          {},
                          state.feedback};
        if (state.announced.latest)
            forecast.came = state.announced.latest->came;
        const auto shared = std::make_shared<const Forecast>(std::move(forecast));
        decisions_.service().decide_by(next.key, [shared](const DecisionService::Heard &heard) {
            return DecisionService::Work([shared, told = heard.told] {
                return shared->decide(told, membership::kMostDecisionBytes);
            });
        });
        decisions_.service().soon([shared] { shared->learn(); });
    }
    prefetch(request, state, next.key);
    return next;
}

// As soon as the decision for the next call is known, its plan is made in the background, unless
// there is one: announced arrivals are new each time, and no call may have needed the steady plan
// so far. And it warms the connections that this plan uses (prewarm.hpp).
void StampedCalls::prefetch(const Request &request, ArrivalState &state, std::uint64_t key) {
    struct Candidate {
        std::string algorithm; // empty: none of the library's
        std::vector<int> order;
        std::shared_ptr<const engine::Plan> plan = nullptr; // null: it is to be made
    };
    const auto candidate = [&](const Chosen &chosen) -> Candidate {
        return {chosen.imported == nullptr ? chosen.algorithm : "", chosen.order,
                parts_.calls.plans.known_plan(request, chosen)};
    };
    state.prefetch->expect(key);
    decisions_.service().when_decided(
        key, [key, inputs = parts_.calls.plans.inputs(request),
              steady = candidate(this->steady(request, state)),
              synchronous = candidate(this->synchronous(request, state)),
              expected = state.decided_for, margin = state.selected.margin,
              ranks = decisions_.ranks(), situation = parts_.calls.selection.situation(request),
              prefetch = state.prefetch, warm = prewarm_.turn_to()](const std::string &decided) {
            prefetch->prepare(key, [&]() -> PlanPrefetch::Prepared {
                const auto announced = announced_plan(decided, expected, margin, ranks, situation);
                Candidate next = steady;
                if (announced && announced->late.algorithm.empty())
                    next = synchronous;
                else if (announced)
                    next = {announced->late.algorithm, announced->late.order};
                if (next.plan == nullptr && next.algorithm.empty())
                    return {};
                if (next.plan != nullptr) {
                    warm(*next.plan);
                    return {};
                }
                auto plan = inputs.plan(next.algorithm, next.order);
                warm(*plan);
                return {next.algorithm, next.order, std::move(plan)};
            });
        });
}

void StampedCalls::select_steady(const Request &request, calls::CallEntry &entry,
                                 ArrivalState &state) {
    state.announced.plays = false;
    parts_.calls.cache.select_plan(request, entry, steady(request, state));
}

void StampedCalls::select_prefetched(const Request &request, calls::CallEntry &entry,
                                     ArrivalState &state, const Chosen &chosen) {
    PlanPrefetch::Prepared ready =
        state.prefetch->come(decisions_.key_of(state, Decisions::About::call));
    if (ready.algorithm == chosen.algorithm && ready.order == chosen.order)
        parts_.calls.cache.select_plan(request, entry, chosen, std::move(ready.plan));
    else
        parts_.calls.cache.select_plan(request, entry, chosen);
}

void StampedCalls::select_announced(const Request &request, calls::CallEntry &entry,
                                    ArrivalState &state) {
    AnnouncedArrivals &announced = state.announced;
    const std::uint64_t key = decisions_.key_of(state, Decisions::About::call);
    const std::string text = decisions_.decided(key, state);
    decisions_.forget_old(key, state);
    auto plan = announced_plan(text, state.decided_for, state.selected.margin, decisions_.ranks(),
                               parts_.calls.selection.situation(request));
    announced.plays = plan.has_value();
    if (!plan) {
        if (!text.empty())
            announced.refuse(state.calls);
        select_prefetched(request, entry, state, steady(request, state));
        return;
    }
    announced.refused = 0;
    Chosen chosen = synchronous(request, state);
    apply(plan->late, chosen);
    announced.playing = {chosen.algorithm, {chosen.order.begin(), chosen.order.end()}, {}};
    announced.expected = std::move(plan->expected);
    announced.last = state.calls;
    select_prefetched(request, entry, state, chosen);
}

} // namespace stretto::arrival
