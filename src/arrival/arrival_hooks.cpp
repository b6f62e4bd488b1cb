// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/arrival_hooks.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/algorithm.hpp"

namespace stretto::arrival {

using calls::Chosen, calls::Request;
using schedule::Collective;

// The minimum vector for it: what ranks say of their arrivals is nothing beside such vectors, and a
// pipeline pays.
static constexpr std::size_t kLeastBytes = 512u << 10;

class ArrivalHooks::Hook final : public calls::CallHook {
public:
    Hook(ArrivalHooks &hooks, ArrivalCalls &calls) : hooks_(hooks), calls_(calls) {}

    Then before(calls::HookedCall &call) override {
        return find_state(call) ? calls_.before(call, *state_) : Then::detach;
    }
    // A nonblocking call is like one in which this rank waits for no other.
    void starts(calls::HookedCall &call) override {
        if (find_state(call))
            (void)calls_.before(call, *state_);
    }
    void started(calls::HookedCall &call, const engine::Queue::InFlightCall *) override {
        if (state_ != nullptr)
            calls_.after(call, *state_);
    }
    void played(calls::HookedCall &call) override { calls_.played(call, *state_); }
    void after(calls::HookedCall &call) override { calls_.after(call, *state_); }

private:
    // False: there are too many kinds.
    bool find_state(const calls::HookedCall &call) {
        if (state_ == nullptr)
            state_ = hooks_.state_of(call.request);
        return state_ != nullptr;
    }

    ArrivalHooks &hooks_;
    ArrivalCalls &calls_;
    ArrivalState *state_ = nullptr; // from the first call on
};

ArrivalHooks::ArrivalHooks(ArrivalParts parts, bool wanted)
    : parts_(std::move(parts)), wanted_(wanted), phases_(parts_.decisions) {
    if (one_host()) {
        shared_memory_.emplace(parts_);
    } else {
        stamped_.emplace(parts_, phases_);
        reported_.emplace(parts_);
    }
}

bool ArrivalHooks::watches(const Request &request, const Chosen &chosen) const {
    const Collective what = request.collective;
    const bool sums = what == Collective::allreduce || (what == Collective::reduce && !one_host());
    const bool moves =
        !one_host() && (what == Collective::allgather || what == Collective::broadcast);
    const int ranks = parts_.segment.ranks();
    if (!wanted_ || (request.nonblocking && one_host()) || ranks <= 2 || (!sums && !moves) ||
        vector_count(request, ranks) * size_of(request.dtype) < kLeastBytes ||
        (chosen.forced && !made_for_arrivals(request, chosen)))
        return false;
    return sums ? request.op != ReduceOp::user_in_order && request.operation_number == 0 &&
                      parts_.calls.selection.policy().reproducible == select::Reproducible::off
                : request.shares == nullptr;
}

// Forced, with nothing said of how: without its parameters, that is.
bool ArrivalHooks::made_for_arrivals(const Request &request, const Chosen &chosen) const {
    if (one_host())
        return SharedMemoryCalls::made_for_arrivals(chosen);
    return std::ranges::any_of(algorithms::all(), [&](const algorithms::Algorithm &each) {
        return each.collective == request.collective && each.for_arrivals != nullptr &&
               each.name == chosen.algorithm;
    });
}

ArrivalCalls &ArrivalHooks::calls_of(const Request &request) {
    if (shared_memory_)
        return *shared_memory_;
    if (request.nonblocking || schedule::rooted(request.collective))
        return *reported_;
    return *stamped_;
}

std::unique_ptr<calls::CallHook> ArrivalHooks::hook_for(const Request &request, Chosen &chosen) {
    if (!watches(request, chosen))
        return nullptr;
    ArrivalCalls &calls = calls_of(request);
    if (const auto found = states_.find(parts_.calls.cache.key_of(request)); found != states_.end())
        calls.resume(request, found->second, chosen);
    return std::make_unique<Hook>(*this, calls);
}

ArrivalState *ArrivalHooks::state_of(const Request &request) {
    const calls::CallKey key = parts_.calls.cache.key_of(request);
    auto found = states_.find(key);
    if (found == states_.end() && states_.size() < kMostKinds) {
        found = states_.try_emplace(key).first;
        found->second.number = states_.size();
        found->second.feedback = std::make_shared<CostFeedback>();
        found->second.prefetch = std::make_shared<PlanPrefetch>();
    }
    return found == states_.end() ? nullptr : &found->second;
}

} // namespace stretto::arrival
