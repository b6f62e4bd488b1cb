// SPDX-License-Identifier: BSD-3-Clause
#include "calls/call_policy.hpp"

#include <algorithm>
#include <atomic>

#include "base/status.hpp"
#include "base/warning.hpp"

namespace stretto::calls {

void CallPolicies::force(std::string_view rules, std::string by, bool where_possible) {
    CallPolicy wanted = now();
    wanted.forced = select::parse_forced(rules);
    std::string obstacle;
    if (where_possible)
        wanted.forced = select::rules_that_run(wanted.forced, ranks_, obstacle);
    static std::atomic<bool> said{false};
    if (!obstacle.empty() && rank_ == 0 && !said.exchange(true))
        warn("on a communicator of " + std::to_string(ranks_) +
             " of the ranks the library chooses the algorithm: " + by + ": " + obstacle);
    try { // each rank may have another file there
        select::import_files(wanted.forced, ranks_);
    } catch (const Error &error) {
        throw Error(error.status(), name_ + ": " + error.what());
    }
    select::require(wanted.forced, ranks_);
    wanted.forced_by = wanted.forced.empty() ? "" : std::move(by);
    set(std::move(wanted));
}

void CallPolicies::inherit(const CallPolicies &other, bool algorithm) {
    CallPolicy inherited = now();
    inherited.reproducible = other.now().reproducible;
    if (algorithm) {
        inherited.forced = other.now().forced;
        inherited.forced_by = other.now().forced_by;
    }
    set(std::move(inherited));
}

void CallPolicies::set_reproducible(select::Reproducible mode) {
    CallPolicy wanted = now();
    wanted.reproducible = mode;
    set(std::move(wanted));
}

void CallPolicies::set(CallPolicy policy) {
    const auto found = std::find(all_.begin(), all_.end(), policy);
    now_ = static_cast<std::size_t>(found - all_.begin());
    if (found == all_.end())
        all_.push_back(std::move(policy));
}

} // namespace stretto::calls
