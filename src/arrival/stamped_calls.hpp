// SPDX-License-Identifier: BSD-3-Clause
// Calls between hosts in which every rank waits for every other.
//
// When each rank came, and what the call before took it, travels beside the call itself, in stamps.
// So after it all ranks know the same, also when it is time to decide which plan runs the calls to
// come.  One rank decides for all, the coordinator (retune.hpp).
//
// There are three ways in which a call gets its plan.  All ranks know from the calls before which
// one it is:
//
//     rule        the plan that was decided for the times at which ranks come as a rule
//     announced   ranks announced in their phases when they will come (announced_calls.cpp)
//     detected    ranks say that they have come, and the coordinator's agent says which ranks are
//                 late (detected_calls.cpp)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arrival/arrival_calls.hpp"
#include "arrival/decisions.hpp"
#include "arrival/history.hpp"
#include "arrival/phases.hpp"
#include "arrival/prewarm.hpp"

namespace stretto::arrival {

class StampedCalls final : public ArrivalCalls {
public:
    StampedCalls(const ArrivalParts &parts, Phases &phases);

    Then before(calls::HookedCall &call, ArrivalState &state) override;
    void played(calls::HookedCall &call, ArrivalState &state) override;
    void after(calls::HookedCall &call, ArrivalState &state) override;

private:
    using Request = calls::Request;

    bool select_plan(const Request &request, calls::CallEntry &entry, ArrivalState &state);
    calls::HookedCall::Companion stamps(ArrivalState &state);
    void learn(calls::HookedCall &call, ArrivalState &state);
    void decide(calls::HookedCall &call, ArrivalState &state);
    void adopt(calls::HookedCall &call, ArrivalState &state);
    void change_rule(calls::HookedCall &call, ArrivalState &state, const cost::Arrivals &expected,
                     const Late &next);
    void expect_next(const Request &request, ArrivalState &state);

    // announced_calls.cpp
    void select_announced(const Request &request, calls::CallEntry &entry, ArrivalState &state);
    void select_steady(const Request &request, calls::CallEntry &entry, ArrivalState &state);
    void select_prefetched(const Request &request, calls::CallEntry &entry, ArrivalState &state,
                           const calls::Chosen &chosen);
    NextCall expect_announcements(const Request &request, ArrivalState &state);
    void prefetch(const Request &request, ArrivalState &state, std::uint64_t key);

    // detected_calls.cpp
    void expect_detection(const ArrivalState &state);
    void select_detected(const Request &request, calls::CallEntry &entry, ArrivalState &state);

    const Decisions decisions_;
    const Prewarm prewarm_;
    Phases &phases_;
    // Of the call in progress: when this rank came, and whether it carries stamps; these, by rank.
    std::uint64_t came_ = 0;
    bool stamped_ = false;
    std::vector<Stamp> stamps_;
};

} // namespace stretto::arrival
