// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm serves a call of a communicator, and what is said of it.
#include "base/spelling.hpp"
#include "base/warning.hpp"
#include "comm/communicator.hpp"

namespace stretto::comm {

select::Situation Communicator::situation(const Request &request) const {
    select::Situation here;
    here.collective = request.collective;
    here.ranks = size();
    here.cores = segment_->header().cores;
    here.hosts = segment_->placement().hosts();
    here.element = size_of(request.dtype);
    here.bytes = vector_count(request) * here.element;
    here.commutative = request.op != ReduceOp::user_in_order;
    here.reproducible = terms().reproducible;
    here.equal_shares = request.shares == 0;
    return here;
}

select::Choice Communicator::choice_for(const Request &request) const {
    select::Situation here = situation(request);
    if (const select::ForcedRule *rule = select::rule_for(terms().forced, here)) {
        select::require(*rule, here);
        return {rule->algorithm, "forced by " + terms().forced_by + ": " + to_text(*rule)};
    }
    here.consistent = true; // what nobody asked for by name gives all ranks the same bits
    return select::choose(here);
}

// "choice: allreduce of 76840 bytes (elements of 4) by 4 ranks on 1 host (demo): direct; measured
// rule: ..."
void Communicator::log_choice(const Request &request, const select::Choice &choice) const {
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
    log(text + " (" + shown(job()) + "): " + choice.algorithm + "; " + choice.why);
}

} // namespace stretto::comm
