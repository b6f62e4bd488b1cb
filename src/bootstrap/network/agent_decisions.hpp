// SPDX-License-Identifier: BSD-3-Clause
// Decisions that all ranks of a job share (arrival/decision_service.hpp), over the membership agent
// of a rank.
//
//    a rank asks, or it is time
//              |
//              v            answer known at once            the agent sends
//    decision of the key ---------------------------------> the value to all
//              |                                                   ^
//              | work: prices, plans                               |
//              v                                                   |
//    background executor: computes ------- value is ready ---------+
//
// The agent's thread collects what was told and sends what is decided.  What takes long, a second
// thread does, so that a rank that prices or compiles answers others as soon as one that computes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "arrival/decision_service.hpp"
#include "arrival/notices.hpp"
#include "base/background.hpp"
#include "membership/agent.hpp"

namespace stretto::bootstrap {

class AgentDecisions final : public arrival::DecisionService {
public:
    // Returns when the work that has begun is done.  The agent still lives.
    void stop() { background_.stop(); }

    // Sets what an agent needs for decisions; then the agent that was made with these hooks.
    void add_to(membership::Hooks &hooks);
    void use(membership::Agent &agent) { agent_ = &agent; }

    std::optional<membership::Offsets> clocks() const override { return agent_->clocks(); }
    void notify(std::uint64_t key, int coordinator, std::int64_t number) override {
        agent_->notify(key, coordinator, number);
    }
    void decide_by(std::uint64_t key, Decision decision) override;
    void decide_before(std::uint64_t key, std::uint64_t time) override;
    void when_decided(std::uint64_t key, Consequence consequence) override;
    std::string decided(std::uint64_t key, int coordinator,
                        const std::function<void()> &meanwhile) override {
        return agent_->decide(key, coordinator, "", meanwhile);
    }
    void forget(std::uint64_t from, std::uint64_t below) override;
    void soon(std::function<void()> job) override { background_.submit(std::move(job)); }
    void come_round(std::uint64_t time) override { agent_->come_round(time); }

private:
    membership::Answer choose(std::uint64_t key, int from);
    void compute(std::uint64_t key, std::uint64_t start, const Work &work);
    void value_decided(std::uint64_t key, const std::string &value);

    membership::Agent *agent_ = nullptr;
    arrival::Notices notices_; // of the agent's thread
    // Nanoseconds that decisions take, and what follows from them, waiting for the executor
    // included.
    std::atomic<std::uint64_t> decided_in_ = 0, followed_in_ = 0;
    std::mutex mutex_;                            // guards what follows
    std::map<std::uint64_t, Decision> decisions_; // to come, by key
    std::map<std::uint64_t, Consequence> consequences_;
    std::set<std::uint64_t> computing_;             // keys with work in the background
    std::map<std::uint64_t, std::string> computed_; // values that the agent has not got yet
    BackgroundExecutor background_{"stretto-bg"};   // last: its thread uses all of the above
};

} // namespace stretto::bootstrap
