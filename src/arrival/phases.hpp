// SPDX-License-Identifier: BSD-3-Clause
// The phases of computation between a rank's calls, in which it may tell the coordinator of the
// coming call that it will come at another time than expected (stretto_edge, phase.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "arrival/arrival_state.hpp"
#include "arrival/decision_service.hpp"
#include "arrival/phase.hpp"

namespace stretto::arrival {

// A call that may end the phase, if ranks ask for a decision before it.
struct NextCall {
    bool asks = false;
    std::uint64_t key = 0; // of the decision
    int coordinator = 0;
    double margin = 0; // seconds: less is not worth announcing
    // Nanoseconds after the first rank at which all expect this one; how much later it will come,
    // as it has announced.
    std::int64_t expected = 0, announced = 0;
    // The coordinator is this rank; and its agent knows when to decide.
    bool decides = false, timed = false;
};

// Any thread.
class Phases {
public:
    // The service outlives this; null: the job is on one host, and nobody is told.
    explicit Phases(DecisionService *service) : service_(service) {}

    void begin();
    // So much of the phase is done, above 0 and up to 1.  Outside of phases does nothing.
    void edge(double fraction);
    // A call of that kind begins: it is too late to announce anything.  True if edge() was called.
    bool end(const ArrivalState &state, std::uint64_t now);
    // What the call has shown of the phase before it: how long after the first rank this one came.
    void came(double seconds);
    // After a call: what is to be known of the next one of its kind.
    void expect(const ArrivalState &state, const NextCall &next);

private:
    DecisionService *const service_;
    std::mutex mutex_; // of what follows
    Phase phase_;
    std::map<std::uint64_t, NextCall> next_; // by the numbers of kinds
};

} // namespace stretto::arrival
