// SPDX-License-Identifier: BSD-3-Clause
// Shared decisions, each of which one member makes for all.
//
// A decision has a key, and the key determines its coordinator.  Members ask the coordinator, each
// with the value that it would choose itself.  The value of the first question that reaches the
// coordinator is decided, and every member gets it, however often it asks.  The coordinator sends
// the decided value to all members at once, so a member that asks later has it already.  A member
// waits for the coordinator's agent only.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "membership/outbox.hpp"
#include "membership/rank_set.hpp"
#include "membership/rules.hpp"

namespace stretto::membership {

class DecisionLog {
public:
    DecisionLog(int rank, std::uint32_t epoch, const RankSet &members, const Rules &rules)
        : rank_(rank), epoch_(epoch), members_(members), once_(rules.decides_once) {}

    void ask(std::uint64_t key, int coordinator, const std::string &value, Outbox &out);
    void receive(int from, const Ask &ask, Outbox &out);
    void receive(const DecidedValue &decision, Outbox &out);
    // The link to `coordinator` is back: sends the open questions again.
    void restored(int coordinator, Outbox &out) const;
    bool knows(std::uint64_t key) const { return decided_.contains(key); }
    // Forgets the decisions of all keys with from <= key < below: no member will ask for them
    // again.
    void forget(std::uint64_t from, std::uint64_t below);

    friend auto operator<=>(const DecisionLog &, const DecisionLog &) = default;

private:
    struct Question {
        std::int32_t coordinator;
        std::string value;
        friend auto operator<=>(const Question &, const Question &) = default;
    };
    const std::string &decide(std::uint64_t key, const std::string &value, int asker, Outbox &out);

    std::int32_t rank_;
    std::uint32_t epoch_;
    RankSet members_;
    bool once_;
    std::map<std::uint64_t, std::string> decided_; // by this member, or known to it
    std::map<std::uint64_t, Question> open_;
};

} // namespace stretto::membership
