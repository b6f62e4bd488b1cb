// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/trials.hpp"

#include <string>
#include <utility>

#include "base/clock.hpp"
#include "select/select.hpp"

namespace stretto::tuning {

using calls::Chosen, calls::Request;

static constexpr const char *kOnTrial = "on trial";

class Trials::Hook final : public calls::CallHook {
public:
    explicit Hook(Trials &trials) : trials_(trials) {}

    Then before(calls::HookedCall &call) override {
        if (trial_ == nullptr)
            trial_ = trials_.trial_of(call.request);
        if (trial_ == nullptr || trial_->state() == Trial::State::over)
            return Then::detach;
        if (trial_->due()) {
            const std::vector<std::string> names =
                select::tuning_candidates(trials_.calls_.selection.free_situation(call.request));
            // One call pays for all plans.
            for (const std::string &name : names)
                (void)trials_.calls_.plans.plan(call.request, {{name, kOnTrial, true}, nullptr});
            trial_->begin(names);
        }
        timed_ = trial_->state() == Trial::State::trying;
        if (timed_) {
            trials_.calls_.cache.select_plan(call.request, call.entry,
                                             {{trial_->serve(), kOnTrial, true}, nullptr});
            start_ = now_ns();
        }
        return Then::play;
    }
    void after(calls::HookedCall &call) override {
        if (!timed_)
            return;
        trial_->took(static_cast<double>(now_ns() - start_) * 1e-9);
        if (trial_->state() == Trial::State::agreeing)
            trials_.conclude(call.request, call.entry, *trial_);
    }

private:
    Trials &trials_;
    Trial *trial_ = nullptr; // from the first call on
    bool timed_ = false;     // the call in progress, which began at
    std::uint64_t start_ = 0;
};

// Where the choice is by price, and may differ from call to call and from run to run.  All ranks
// make the same calls in the same order, so they have the same trials; user-defined operations and
// unequal shares have numbers that each rank gives for itself.
bool Trials::tries(const Request &request, const Chosen &chosen) const {
    return wanted_ && chosen.by_price && request.memory == MemoryKind::host &&
           calls_.selection.policy().reproducible == select::Reproducible::off &&
           !schedule::rooted(request.collective) && request.operation_number == 0 &&
           request.shares == 0;
}

std::unique_ptr<calls::CallHook> Trials::hook_for(const Request &request, Chosen &chosen) {
    if (!tries(request, chosen))
        return nullptr;
    resume(request, chosen);
    return std::make_unique<Hook>(*this);
}

void Trials::resume(const Request &request, Chosen &chosen) const {
    const auto found = trials_.find(calls_.cache.key_of(request));
    if (found == trials_.end() || found->second.served() == nullptr)
        return;
    chosen.algorithm = *found->second.served();
    chosen.why = found->second.why();
}

select::Profile Trials::with_findings(select::Profile profile) const {
    for (const select::Measured &each : found_)
        select::add(profile.calls, each);
    return profile;
}

Trial *Trials::trial_of(const Request &request) {
    const calls::CallKey key = calls_.cache.key_of(request);
    auto found = trials_.find(key);
    if (found == trials_.end() && trials_.size() < kMostTrials)
        found = trials_.try_emplace(key).first;
    return found == trials_.end() ? nullptr : &found->second;
}

// By an allreduce of our own, which nobody counts.
void Trials::conclude(const Request &request, calls::CallEntry &entry, Trial &trial) {
    std::vector<double> &times = trial.times();
    Request agreement;
    agreement.output = times.data();
    agreement.count = times.size();
    agreement.dtype = Dtype::f64;
    agreement.op = ReduceOp::max;
    agreement.own = true;
    calls_.internal.count_next();
    queue_.play(calls_.cache.call(agreement, calls_.cache.entry(agreement), false),
                calls_.internal.tally());
    trial.decide();
    select::Measured took = calls_.selection.kind_of(request);
    for (const auto &[algorithm, seconds] : trial.medians())
        took.times.push_back({calls_.selection.situation(request).bytes, algorithm, seconds, 0,
                              Trial::kCountedCalls, select::Timing::By::trial});
    select::add(found_, took);
    calls_.cache.select_plan(request, entry, {{trial.serve(), trial.why(), true}, nullptr});
    if (calls_.selection.logs())
        calls_.selection.log_choice(request, {{*trial.served(), trial.why(), true}, nullptr});
}

} // namespace stretto::tuning
