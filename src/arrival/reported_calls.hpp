// SPDX-License-Identifier: BSD-3-Clause
// Calls between hosts in which a rank waits for no other: reduces and broadcasts, since the root of
// a broadcast may be gone before others come; and all nonblocking calls, since a rank that starts
// one goes on at once.
//
// So what each rank says of its arrival does not travel beside the call, as it does in calls in
// which all wait for all (stamped_calls.hpp).  Of some calls before the next decision each rank
// reports to the coordinator's agent when it came.  That agent alone knows what all reported; it
// decides the plan of the calls to come and the order of ranks in it (retune.hpp).  All ranks know
// at which call they have to ask for the decision; then, and only then, they may wait, for that
// agent, which answers whatever its rank does.
#pragma once

#include <cstdint>

#include "arrival/arrival_calls.hpp"
#include "arrival/decisions.hpp"
#include "arrival/prewarm.hpp"

namespace stretto::arrival {

class ReportedCalls final : public ArrivalCalls {
public:
    explicit ReportedCalls(const ArrivalParts &parts);

    Then before(calls::HookedCall &call, ArrivalState &state) override;
    void after(calls::HookedCall &call, ArrivalState &state) override;

private:
    void report(const ArrivalState &state, std::uint64_t came);
    void adopt(calls::HookedCall &call, ArrivalState &state);
    void expect_decision(const calls::Request &request, ArrivalState &state, std::uint64_t after);
    std::int64_t last_took(const calls::CallEntry &entry, ArrivalState &state) const;

    const Decisions decisions_;
    const Prewarm prewarm_;
};

} // namespace stretto::arrival
