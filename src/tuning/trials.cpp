// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/trials.hpp"

#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "select/select.hpp"

namespace stretto::tuning {

using calls::Chosen, calls::Request;

static constexpr const char *kOnTrial = "on trial";

// The plans of candidates, made by the first thread that asks; another one that asks meanwhile
// waits.
class Preparation {
public:
    Preparation(std::vector<std::string> names, calls::PlanInputs inputs)
        : names_(std::move(names)), inputs_(std::move(inputs)) {}

    struct Candidate {
        std::string algorithm;
        calls::Planned plan; // null: the rank makes it itself, as a plan of its cache
    };
    std::vector<Candidate> &candidates() {
        std::call_once(once_, [this] {
            for (const std::string &name : names_)
                candidates_.push_back({name, planned(name)});
        });
        return candidates_;
    }

private:
    calls::Planned planned(const std::string &algorithm) const {
        // Ranks of a host take turns at plans that need much memory for a moment: by the cache.
        constexpr std::size_t kMuchMemoryBytes = std::size_t{16} << 20;
        try {
            return inputs_.plan(algorithm, {}, [](std::size_t need) {
                if (need > kMuchMemoryBytes)
                    throw Error(Status::memory, "");
            });
        } catch (const std::exception &) { // the rank finds it for itself
            return nullptr;
        }
    }

    std::once_flag once_;
    const std::vector<std::string> names_;
    const calls::PlanInputs inputs_;
    std::vector<Candidate> candidates_;
};

class Trials::Hook final : public calls::CallHook {
public:
    explicit Hook(Trials &trials) : trials_(trials) {}

    Then before(calls::HookedCall &call) override {
        if (trial_ == nullptr)
            trial_ = trials_.trial_of(call.request);
        if (trial_ == nullptr || trial_->state() == Trial::State::over)
            return Then::detach;
        if (trial_->due())
            begin(call);
        else if (trial_->near())
            prepare(call);
        if (!trial_->trying())
            return Then::next;
        call.on_trial = trial_->is_turn();
        if (call.on_trial)
            trials_.calls_.cache.select_plan(call.request, call.entry, on_trial(trial_->next()));
        start_ = now_ns();
        return Then::next;
    }
    void after(calls::HookedCall &call) override {
        if (!trial_->trying())
            return;
        trial_->took(static_cast<double>(now_ns() - start_) * 1e-9);
        if (trial_->agrees())
            trials_.conclude(call, *trial_);
        const bool is_over = trial_->state() == Trial::State::over;
        if (is_over || call.on_trial)
            trials_.calls_.cache.select_plan(
                call.request, call.entry,
                on_trial(*trial_->standing(), is_over ? trial_->why() : kOnTrial));
    }

private:
    static Chosen on_trial(const std::string &algorithm, const std::string &why = kOnTrial) {
        return {{algorithm, why, true}, nullptr};
    }
    void prepare(const calls::HookedCall &call) {
        preparation_ =
            std::make_shared<Preparation>(trials_.calls_.selection.trial_candidates(call.request),
                                          trials_.calls_.plans.inputs(call.request));
        if (trials_.background_)
            trials_.background_([preparation = preparation_] { preparation->candidates(); });
    }
    void begin(const calls::HookedCall &call) {
        if (preparation_ == nullptr) // the entry is new, or there is none in the background
            prepare(call);
        std::vector<std::string> names;
        for (Preparation::Candidate &each : preparation_->candidates()) {
            (void)trials_.calls_.plans.plan(call.request, on_trial(each.algorithm),
                                            std::move(each.plan));
            names.push_back(each.algorithm);
        }
        preparation_ = nullptr;
        trial_->begin(std::move(names));
    }

    Trials &trials_;
    Trial *trial_ = nullptr; // from the first call on
    std::shared_ptr<Preparation> preparation_;
    std::uint64_t start_ = 0; // of the call in progress, by now_ns()
};

// Where the choice is by price, and may differ from call to call and from run to run.  All ranks
// make the same calls in the same order, so they have the same trials; user-defined operations and
// unequal shares have numbers that each rank gives for itself.
bool Trials::tries(const Request &request, const Chosen &chosen) const {
    return wanted_ && chosen.by_price && !request.nonblocking &&
           calls_.selection.policy().reproducible == select::Reproducible::off &&
           !schedule::rooted(request.collective) && request.operation_number == 0 &&
           request.shares == nullptr;
}

std::unique_ptr<calls::CallHook> Trials::hook_for(const Request &request, Chosen &chosen) {
    if (!tries(request, chosen))
        return nullptr;
    if (chosen.order.empty()) // else it is for late ranks, who keep it
        resume(request, chosen);
    return std::make_unique<Hook>(*this);
}

void Trials::resume(const Request &request, Chosen &chosen) const {
    const auto found = trials_.find(calls_.cache.key_of(request));
    if (found == trials_.end() || found->second.standing() == nullptr)
        return;
    chosen.algorithm = *found->second.standing();
    if (!found->second.why().empty())
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
void Trials::conclude(calls::HookedCall &call, Trial &trial) {
    const Request &request = call.request;
    std::vector<double> &times = trial.times();
    Request agreement;
    agreement.output = times.data();
    agreement.count = times.size();
    agreement.dtype = Dtype::f64;
    agreement.op = ReduceOp::max;
    agreement.internal = true;
    calls_.internal.count_next();
    queue_.play(calls_.cache.call(agreement, calls_.cache.entry(agreement)),
                calls_.internal.tally(), call.order);
    call.order.take();
    trial.decide();
    if (trial.state() != Trial::State::over)
        return;
    select::Measured took = calls_.selection.kind_of(request);
    for (const Trial::Median &each : trial.medians())
        took.times.push_back({calls_.selection.situation(request).bytes, each.algorithm,
                              each.seconds, 0, static_cast<std::uint32_t>(each.calls),
                              select::Timing::By::trial});
    select::add(found_, took);
    if (calls_.selection.logs())
        calls_.selection.log_choice(request, {{*trial.standing(), trial.why(), true}, nullptr});
}

} // namespace stretto::tuning
