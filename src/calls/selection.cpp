// SPDX-License-Identifier: BSD-3-Clause
#include "calls/selection.hpp"

#include <utility>

#include "base/numbering.hpp"
#include "base/spelling.hpp"
#include "base/warning.hpp"
#include "calls/call_descriptor.hpp"
#include "select/profile_json.hpp"

namespace stretto::calls {

Selection::Selection(const Config::Calls &config, const transport::Segment &segment, int rank,
                     const CallPolicies &policies, std::string job)
    : segment_(segment), policies_(policies), job_(std::move(job)),
      logs_(rank == 0 && config.log_choices) {}

select::Situation Selection::situation(const Request &request) const {
    select::Situation here;
    here.collective = request.collective;
    here.ranks = segment_.ranks();
    here.root = schedule::rooted(request.collective) ? request.root : 0;
    here.cores = segment_.header().cores;
    here.hosts = segment_.placement().hosts();
    here.one_machine = segment_.header().one_machine != 0;
    here.ring = segment_.ring_bytes();
    here.element = size_of(request.dtype);
    here.bytes = vector_count(request, segment_.ranks()) * here.element;
    here.commutative = request.op != ReduceOp::user_in_order;
    here.reproducible = policy().reproducible;
    here.equal_shares = request.shares == nullptr;
    if (here.hosts > 1 && here.hosts < here.ranks)
        for (int rank = 0; rank < here.ranks; ++rank)
            here.host_of.push_back(segment_.placement().host_of(rank));
    if (here.hosts == 1 && segment_.lines(0).cache.load(std::memory_order_relaxed) != 0)
        for (int rank = 0; rank < here.ranks; ++rank)
            here.cache_of.push_back(segment_.lines(rank).cache.load(std::memory_order_relaxed));
    return here;
}

Chosen Selection::choice_for(const Request &request) const {
    select::Situation here = situation(request);
    if (const select::ForcedRule *rule = select::rule_for(policy().forced, here)) {
        select::require(*rule, here, request.root, vector_count(request, segment_.ranks()));
        return {{rule->algorithm, "forced by " + policy().forced_by + ": " + to_text(*rule)},
                rule->imported,
                {},
                true};
    }
    if (segment_.placement().one_host())
        return {select::choose(free_situation(request)), nullptr};
    return {by_price(request, here), nullptr};
}

// Prices of all candidates may take milliseconds, so a class of sizes is priced once.
const select::Choice &Selection::by_price(const Request &request,
                                          const select::Situation &here) const {
    return choices_.get({pack(request) & ~kNonblockingFlag, select::size_class(here.bytes),
                         policies_.number(), request.shares != nullptr ? 1U : 0U},
                        [&] { return select::choose(free_situation(request)); });
}

const std::vector<std::string> &Selection::trial_candidates(const Request &request) const {
    return by_price(request, situation(request)).candidates;
}

void Selection::set_profile(select::Profile profile) {
    profile_ = std::move(profile);
    choices_.clear(); // of calls that joining has made
}

// An algorithm that was not forced must give all ranks the same bits.  Operations that do not round
// do so in any order.
select::Situation Selection::free_situation(const Request &request) const {
    select::Situation here = situation(request);
    here.consistent = !exact(request.dtype, request.op);
    if (here.reproducible == select::Reproducible::off) // what was measured differs between runs
        here.profile = profile_;
    return here;
}

// Profiles keep times by this kind.
select::Measured Selection::kind_of(const Request &request) const {
    const select::Situation here = situation(request);
    return {here.collective, here.ranks, here.hosts, numbered_in_order(here.host_of), {}};
}

std::string Selection::tuning_candidates(const Request &request) const {
    return select::tuning_candidates_to_json(kind_of(request), situation(request).bytes,
                                             select::tuning_candidates(free_situation(request)));
}

// "choice: allreduce of 76840 bytes (elements of 4) by 4 ranks on 1 host (demo): direct; measured
// rule: ..."
void Selection::log_choice(const Request &request, const Chosen &chosen) const {
    const select::Situation here = situation(request);
    std::string text("choice: ");
    text.append(schedule::name(here.collective)).append(request.shares != nullptr ? "v" : "");
    if (here.collective != Collective::barrier)
        text += " of " + std::to_string(here.bytes) + " bytes (elements of " +
                std::to_string(here.element) + ")";
    if (schedule::rooted(here.collective))
        text += ", root " + std::to_string(request.root) + ",";
    text += " by " + std::to_string(here.ranks) + (here.ranks == 1 ? " rank on " : " ranks on ") +
            std::to_string(here.hosts) + (here.hosts == 1 ? " host" : " hosts");
    if (here.reproducible != select::Reproducible::off)
        text += ", reproducible " + std::string(select::name(here.reproducible));
    log(text + " (" + shown(job_) + "): " + chosen.algorithm + "; " + chosen.why);
}

} // namespace stretto::calls
