// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/arrival_calls.hpp"

#include <algorithm>
#include <utility>

namespace stretto::arrival {

using calls::Chosen, calls::Request;

const Chosen &ArrivalCalls::first_choice(const Request &request, ArrivalState &state) const {
    if (!state.first_choice)
        state.first_choice = parts_.calls.selection.choice_for(request);
    return *state.first_choice;
}

Chosen ArrivalCalls::synchronous(const Request &request, ArrivalState &state) const {
    Chosen chosen = first_choice(request, state);
    parts_.trials.resume(request, chosen);
    return chosen;
}

Chosen ArrivalCalls::steady(const Request &request, ArrivalState &state) const {
    Chosen chosen = synchronous(request, state);
    apply(state.selected, chosen);
    return chosen;
}

void ArrivalCalls::apply(const Late &late, Chosen &chosen) {
    if (late.algorithm.empty() || late.latecomers > 0)
        return;
    chosen.algorithm = late.algorithm;
    chosen.why = late.why;
    chosen.order.assign(late.order.begin(), late.order.end());
}

// From one decision to the next: a decision takes milliseconds.  The longer it has proved right,
// the more calls.
bool ArrivalCalls::change_rule(ArrivalState &state, const cost::Arrivals &expected,
                               const Late &next) {
    constexpr std::uint64_t kMostCalls = 128;
    const bool same = next.same_as(state.selected);
    state.due_after = same ? std::clamp(2 * state.due_after, kDecisionEveryCalls, kMostCalls)
                           : kDecisionEveryCalls;
    state.decided_for = expected;
    state.selected = next;
    if (!same)
        state.selected_since = state.history.calls();
    return !same;
}

std::size_t ArrivalCalls::vector_bytes(const Request &request) const {
    return calls::vector_count(request, parts_.segment.ranks()) * size_of(request.dtype);
}

std::uint64_t ArrivalCalls::longest_wait_ns() const {
    constexpr std::uint64_t kLongestNs = 1'000'000'000;
    return parts_.timeout_ns == 0 ? kLongestNs : std::min(kLongestNs, parts_.timeout_ns / 2);
}

} // namespace stretto::arrival
