// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm serves a call of a communicator, and what is said of it.
#include "algorithms/algorithm.hpp"
#include "base/mix.hpp"
#include "base/spelling.hpp"
#include "base/warning.hpp"
#include "comm/communicator.hpp"
#include "schedule/bind.hpp"
#include "select/placed.hpp"
#include "select/profile_json.hpp"

namespace stretto::comm {

select::Situation Communicator::situation(const Request &request) const {
    select::Situation here;
    here.collective = request.collective;
    here.ranks = size();
    here.root = schedule::rooted(request.collective) ? request.root : 0;
    here.cores = segment_->header().cores;
    here.hosts = segment_->placement().hosts();
    here.element = size_of(request.dtype);
    here.bytes = vector_count(request) * here.element;
    here.commutative = request.op != ReduceOp::user_in_order;
    here.reproducible = terms().reproducible;
    here.equal_shares = request.shares == 0;
    if (here.hosts > 1 && here.hosts < here.ranks)
        for (int rank = 0; rank < here.ranks; ++rank)
            here.host_of.push_back(segment_->placement().host_of(rank));
    if (here.hosts == 1 && segment_->lines(0).cache.load(std::memory_order_relaxed) != 0)
        for (int rank = 0; rank < here.ranks; ++rank)
            here.cache_of.push_back(segment_->lines(rank).cache.load(std::memory_order_relaxed));
    return here;
}

Chosen Communicator::choice_for(const Request &request) const {
    select::Situation here = situation(request);
    if (const select::ForcedRule *rule = select::rule_for(terms().forced, here)) {
        select::require(*rule, here, request.root, vector_count(request));
        return {{rule->algorithm, "forced by " + terms().forced_by + ": " + to_text(*rule)},
                rule->imported,
                {},
                true};
    }
    return {select::choose(free_situation(request)), nullptr};
}

// What nobody asked for by name gives all ranks the same bits; integers do so in any order.
select::Situation Communicator::free_situation(const Request &request) const {
    select::Situation here = situation(request);
    here.consistent = !exact(request.dtype, request.op);
    if (here.reproducible == select::Reproducible::off) // what was measured differs between runs
        here.profile = profile_;
    return here;
}

// As profiles tell calls apart.
select::Measured Communicator::kind_of(const Request &request) const {
    const select::Situation here = situation(request);
    return {here.collective, here.ranks, here.hosts, select::in_order(here.host_of), {}};
}

std::string Communicator::tuning_candidates(const Request &request) const {
    return select::tuning_candidates_to_json(kind_of(request), situation(request).bytes,
                                             select::tuning_candidates(free_situation(request)));
}

select::Profile Communicator::profile_and_trials() const {
    select::Profile all = profile_;
    for (const select::Measured &each : found_)
        select::add(all.calls, each);
    return all;
}

// What a file's schedule cannot serve is refused by all ranks alike, if all have read the same; and
// memory that no executor serves, if all have given such memory.  If not, some may be in the call
// already, waiting for this one: so it takes its turn, and they find that it has called something
// else.
void Communicator::announce_refusal(const Request &request, std::uint64_t why) {
    engine::Call call;
    call.plan = turn();
    call.said = {what(request) | why, request.count};
    call.fingerprint = mix(mix(segment_->header().key, call.said.what), request.count);
    engine::Tally tally;
    queue_.play(call, tally);
}

// "choice: allreduce of 76840 bytes (elements of 4) by 4 ranks on 1 host (demo): direct; measured
// rule: ..."
void Communicator::log_choice(const Request &request, const Chosen &chosen) const {
    const select::Situation here = situation(request);
    std::string text("choice: ");
    text.append(schedule::name(here.collective)).append(request.shares != 0 ? "v" : "");
    if (here.collective != Collective::barrier)
        text += " of " + std::to_string(here.bytes) + " bytes (elements of " +
                std::to_string(here.element) + ")";
    if (schedule::rooted(here.collective))
        text += ", root " + std::to_string(request.root) + ",";
    text += " by " + std::to_string(here.ranks) + (here.ranks == 1 ? " rank on " : " ranks on ") +
            std::to_string(here.hosts) + (here.hosts == 1 ? " host" : " hosts");
    if (here.reproducible != select::Reproducible::off)
        text += ", reproducible " + std::string(select::name(here.reproducible));
    log(text + " (" + shown(me_.job) + "): " + chosen.algorithm + "; " + chosen.why);
}

} // namespace stretto::comm
