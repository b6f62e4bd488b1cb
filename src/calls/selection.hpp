// SPDX-License-Identifier: BSD-3-Clause
// Which algorithm runs a call of a communicator, by what all of its ranks know.
#pragma once

#include <string>
#include <utility>

#include "base/config.hpp"
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

    // What select/ goes by; the second, if the caller forces no algorithm: then results of all
    // ranks have the same bits, and the measured network counts.
    select::Situation situation(const Request &request) const;
    select::Situation free_situation(const Request &request) const;
    // Throws Error(unsupported) if the forced algorithm cannot run this call.
    Chosen choice_for(const Request &request) const;

    // As profiles tell calls apart.
    select::Measured kind_of(const Request &request) const;
    // What is worth measuring for such a call, in JSON (select/profile_json.hpp).
    std::string tuning_candidates(const Request &request) const;

    const CallPolicy &policy() const { return policies_.now(); }
    // The network as the job has measured it.  It changes once, before the first call of a caller.
    const select::Profile &profile() const { return profile_; }
    void set_profile(select::Profile profile) { profile_ = std::move(profile); }

    // STRETTO_LOG=choice: rank 0 says what runs its calls.
    bool logs() const { return logs_; }
    void log_choice(const Request &request, const Chosen &chosen) const;

private:
    const transport::Segment &segment_;
    const CallPolicies &policies_;
    const std::string job_;
    const bool logs_;
    select::Profile profile_;
};

} // namespace stretto::calls
