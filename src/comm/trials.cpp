// SPDX-License-Identifier: BSD-3-Clause
// Calls that repeat try the algorithms whose price is close (select/trial.hpp).
#include "base/clock.hpp"
#include "comm/communicator.hpp"
#include "select/candidates.hpp"

namespace stretto::comm {

static constexpr const char *kOnTrial = "on trial";

// Where the choice is by price, and may differ from call to call and from run to run.  All ranks
// make the same calls in the same order, so they have the same trials; user-defined operations and
// unequal shares have numbers that each rank gives for itself.
bool Communicator::tries(const Request &request, const Chosen &chosen) const {
    return tries_ && chosen.by_price && request.memory == MemoryKind::host &&
           terms().reproducible == select::Reproducible::off &&
           !schedule::rooted(request.collective) && request.operation_number == 0 &&
           request.shares == 0;
}

// What a site that is made anew starts with: what it had, if it has been forgotten meanwhile.
void Communicator::resume_trial(const Key &key, Chosen &chosen) const {
    const auto found = trials_.find(key);
    if (found == trials_.end() || found->second.served() == nullptr)
        return;
    chosen.algorithm = *found->second.served();
    chosen.why = found->second.why();
}

void Communicator::serve(const Request &request, CallEntry &site, const Chosen &chosen) {
    const engine::Plan &wanted = plan(request, chosen);
    if (&wanted == site.plan)
        return;
    queue_.while_still([&] {               // calls that were started count here as well
        add(past_, key_of(request), site); // under the algorithm that it was
        site.tally = {};
    });
    site.plan = &wanted;
    site.fingerprint = fingerprint(request, site);
}

void Communicator::play_trial(const Request &request, CallEntry &site) {
    const Key key = key_of(request);
    auto found = trials_.find(key);
    if (found == trials_.end() && trials_.size() < kMostTrials)
        found = trials_.try_emplace(key).first;
    if (found == trials_.end() || found->second.state() == select::Trial::State::over) {
        site.tries = false;
        queue_.play(call(request, site, false), site.tally);
        return;
    }
    select::Trial &trial = found->second;
    if (trial.due()) {
        const std::vector<std::string> names = select::tuning_candidates(free_situation(request));
        // One call pays for all plans.
        for (const std::string &name : names)
            (void)plan(request, {{name, kOnTrial, true}, nullptr});
        trial.begin(names);
    }
    if (trial.state() != select::Trial::State::trying) {
        queue_.play(call(request, site, false), site.tally);
        return;
    }
    serve(request, site, {{trial.serve(), kOnTrial, true}, nullptr});
    const std::uint64_t start = now_ns();
    queue_.play(call(request, site, false), site.tally);
    trial.took(static_cast<double>(now_ns() - start) * 1e-9);
    if (trial.state() == select::Trial::State::agreeing)
        conclude(request, trial);
}

// By an allreduce of our own, which nobody counts.
void Communicator::conclude(const Request &request, select::Trial &trial) {
    std::vector<double> &times = trial.times();
    Request agreement;
    agreement.output = times.data();
    agreement.count = times.size();
    agreement.dtype = Dtype::f64;
    agreement.op = ReduceOp::max;
    agreement.own = true;
    count_own_call();
    queue_.play(call(agreement, site(agreement), false), uncounted_);
    trial.decide();
    select::Measured took = kind_of(request);
    for (const auto &[algorithm, seconds] : trial.medians())
        took.times.push_back({situation(request).bytes, algorithm, seconds, 0,
                              select::Trial::kCountedCalls, select::Timing::By::trial});
    select::add(found_, took);
    CallEntry &here = site(request);
    serve(request, here, {{trial.serve(), trial.why(), true}, nullptr});
    here.tries = false;
    if (logs_choices_)
        log_choice(request, {{*trial.served(), trial.why(), true}, nullptr});
}

} // namespace stretto::comm
