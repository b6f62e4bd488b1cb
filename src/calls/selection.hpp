// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm runs a call of a communicator.  All ranks choose alike, by what all of them know.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/memo.hpp"
#include "calls/call_entry.hpp"
#include "calls/call_policy.hpp"
#include "calls/chosen.hpp"
#include "calls/request.hpp"
#include "select/profile.hpp"
#include "select/select.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::calls {

class Selection {
public:
    // The policies and the segment outlive this.  `job` is the communicator's name in the log.
    Selection(const Config::Calls &config, const transport::Segment &segment, int rank,
              const CallPolicies &policies, std::string job);

    // The inputs of select/ for a call.  free_situation() is for a call whose algorithm is not
    // forced: it demands the same bits on all ranks, and takes the measured network into account.
    select::Situation situation(const Request &request) const;
    select::Situation free_situation(const Request &request) const;
    // Throws Error(unsupported) if the forced algorithm cannot run this call.
    Chosen choice_for(const Request &request) const;

    // Of a call whose algorithm is chosen by price: what a trial compares (select::Choice).  Priced
    // once for a class of sizes, with the choice.
    const std::vector<std::string> &trial_candidates(const Request &request) const;

    // The kind of a call, by which profiles keep its times.
    select::Measured kind_of(const Request &request) const;
    // The tuning candidates for such a call, in JSON (select/profile_json.hpp).
    std::string tuning_candidates(const Request &request) const;

    const CallPolicy &policy() const { return policies_.now(); }
    // The profile of the network, as the job has measured it.  It is set once, before the first
    // call of a caller.
    const select::Profile &profile() const { return profile_; }
    void set_profile(select::Profile profile);

    // STRETTO_LOG=choice: rank 0 logs which algorithm runs a call.
    bool logs() const { return logs_; }
    void log_choice(const Request &request, const Chosen &chosen) const;

private:
    const select::Choice &by_price(const Request &request, const select::Situation &here) const;

    const transport::Segment &segment_;
    const CallPolicies &policies_;
    const std::string job_;
    const bool logs_;
    select::Profile profile_;
    // Between hosts, by the class of their sizes (select/select.hpp).
    mutable Memo<CallKey, select::Choice, CallKeyHash> choices_;
};

} // namespace stretto::calls
