// SPDX-License-Identifier: BSD-3-Clause
// Which decision is about which call: the keys of a communicator's decisions, and who coordinates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "arrival/arrival_state.hpp"
#include "arrival/decision_service.hpp"

namespace stretto::arrival {

class Decisions {
public:
    // The service outlives this.  `communicator` differs between communicators; `ranks` are the
    // ranks of the job, by rank of the communicator.  `progress`: what a rank gets done while it
    // waits for a decision.
    Decisions(DecisionService &service, std::uint64_t communicator, std::vector<int> ranks,
              int rank, std::function<void()> progress);

    DecisionService &service() const { return service_; }
    const std::vector<int> &ranks() const { return ranks_; }

    // What is decided: the plan of one call; the plan from that call on.  What ranks report: when
    // they came to a call; what the call before took.
    enum class About { call, rule, came, took };
    std::uint64_t key_of(const ArrivalState &state, About about) const {
        return key_of(state, about, state.calls);
    }
    std::uint64_t key_of(const ArrivalState &state, About about, std::uint64_t call) const;

    // A rank of the job.
    int coordinator_of(const ArrivalState &state) const;
    bool coordinates(const ArrivalState &state) const;

    // What was decided for a key.  While this rank waits, what others send to it goes on.
    std::string decided(std::uint64_t key, const ArrivalState &state) const;
    // No rank asks again for earlier keys of its kind.  The second, of decisions for single calls,
    // does so now and then.
    void forget_before(std::uint64_t key) const;
    void forget_old(std::uint64_t key, const ArrivalState &state) const;

private:
    DecisionService &service_;
    const std::uint64_t communicator_;
    const std::vector<int> ranks_;
    const int rank_;
    const std::function<void()> progress_;
};

} // namespace stretto::arrival
