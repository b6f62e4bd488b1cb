// SPDX-License-Identifier: BSD-3-Clause
// What calls have in common whose plans are selected by when ranks arrive.  There are three sorts:
//
//     stamped_calls.hpp         between hosts, of collectives in which all ranks wait for all
//     reported_calls.hpp        between hosts, of others: reduces, broadcasts, nonblocking calls
//     shared_memory_calls.hpp   of ranks that share memory
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "arrival/arrival_state.hpp"
#include "arrival/decision_service.hpp"
#include "arrival/job_clock.hpp"
#include "arrival/late.hpp"
#include "arrival/tcp_prewarm.hpp"
#include "calls/call_hook.hpp"
#include "calls/calls.hpp"
#include "transport/shm/segment.hpp"
#include "tuning/trials.hpp"

namespace stretto::arrival {

// What a communicator gives these calls.  All of it outlives them.
struct ArrivalParts {
    transport::Segment &segment;
    int rank;
    calls::Calls &calls;
    const tuning::Trials &trials;
    // What a rank gets done while it waits before a call; and the same if other threads of the rank
    // may begin their calls meanwhile.
    std::function<void()> progress, progress_of_all;
    // Of a job on several hosts; else null.
    DecisionService *decisions;
    std::shared_ptr<TcpPrewarm> connections;
    std::vector<int> job_ranks; // by rank of the communicator
    const JobClock &clock;
    std::uint64_t timeout_ns; // of a call; 0: no limit
};

// From one decision to the next, at least.
inline constexpr std::uint64_t kDecisionEveryCalls = 8;

class ArrivalCalls {
public:
    virtual ~ArrivalCalls() = default;

    // The entry of such calls is made anew: selects again what is selected as a rule.
    virtual void resume(const calls::Request &, ArrivalState &state, calls::Chosen &chosen) {
        apply(state.selected, chosen);
    }
    // As of a hook (calls/call_hook.hpp).
    using Then = calls::CallHook::Then;
    virtual Then before(calls::HookedCall &call, ArrivalState &state) = 0;
    virtual void played(calls::HookedCall &, ArrivalState &) {}
    virtual void after(calls::HookedCall &call, ArrivalState &state) = 0;

protected:
    explicit ArrivalCalls(const ArrivalParts &parts) : parts_(parts) {}

    // The library's choice for ranks that arrive together, or the one that the caller forces.
    const calls::Chosen &first_choice(const calls::Request &request, ArrivalState &state) const;
    // The same, or what a trial of such calls has found since.
    calls::Chosen synchronous(const calls::Request &request, ArrivalState &state) const;
    // The choice for the times at which ranks come as a rule.
    calls::Chosen steady(const calls::Request &request, ArrivalState &state) const;
    // Puts a choice for late ranks in place of another.
    static void apply(const Late &late, calls::Chosen &chosen);
    // From now on this is selected as a rule, for these arrivals.  True if something else was.
    static bool change_rule(ArrivalState &state, const cost::Arrivals &expected, const Late &next);
    std::size_t vector_bytes(const calls::Request &request) const;
    // How long ranks wait for others, in nanoseconds, before any of them begins: then the call
    // itself looks for what is wrong, and says so.
    std::uint64_t longest_wait_ns() const;

    const ArrivalParts &parts_;
};

} // namespace stretto::arrival
