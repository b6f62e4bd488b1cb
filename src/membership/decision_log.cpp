// SPDX-License-Identifier: BSD-3-Clause
#include "membership/decision_log.hpp"

namespace stretto::membership {

const std::string &DecisionLog::decide(std::uint64_t key, const std::string &value, int asker,
                                       Outbox &out) {
    const auto [at, first] = decided_.try_emplace(key, value);
    if (!once_)
        at->second = value;
    if (first || asker == rank_)
        out.add(action::ValueDecided{key, at->second});
    if (first)
        for (const int member : members_)
            if (member != rank_ && member != asker)
                out.send(member, epoch_, DecidedValue{key, at->second});
    return at->second;
}

void DecisionLog::ask(std::uint64_t key, int coordinator, const std::string &value, Outbox &out) {
    if (coordinator == rank_) {
        decide(key, value, rank_, out);
        return;
    }
    if (const auto known = decided_.find(key); known != decided_.end())
        out.add(action::ValueDecided{key, known->second});
    else if (open_.try_emplace(key, Question{coordinator, value}).second)
        out.send(coordinator, epoch_, Ask{key, value});
}

void DecisionLog::receive(int from, const Ask &ask, Outbox &out) {
    out.send(from, epoch_, DecidedValue{ask.key, decide(ask.key, ask.value, from, out)});
}

void DecisionLog::receive(const DecidedValue &decision, Outbox &out) {
    open_.erase(decision.key);
    if (decided_.try_emplace(decision.key, decision.value).second)
        out.add(action::ValueDecided{decision.key, decision.value});
}

void DecisionLog::restored(int coordinator, Outbox &out) const {
    for (const auto &[key, question] : open_)
        if (question.coordinator == coordinator)
            out.send(coordinator, epoch_, Ask{key, question.value});
}

void DecisionLog::forget(std::uint64_t from, std::uint64_t below) {
    decided_.erase(decided_.lower_bound(from), decided_.lower_bound(below));
}

} // namespace stretto::membership
