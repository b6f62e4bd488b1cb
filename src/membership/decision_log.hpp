// SPDX-License-Identifier: BSD-3-Clause
// Shared choices that one member decides for all.
//
// A choice has a key, and the key determines a coordinator.  Members ask the coordinator, each with
// the value that it would choose itself; the first to be heard decides, and all are given that
// value, however often they ask.  As soon as it is decided the others are told unasked: who asks
// later has its answer at hand.  Nobody waits for anything but the coordinator's agent.
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
    // Asks again what `coordinator` may not have heard.
    void restored(int coordinator, Outbox &out) const;
    bool knows(std::uint64_t key) const { return decided_.contains(key); }
    // Nobody asks again for keys from the first one up to, but without, the other.
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
