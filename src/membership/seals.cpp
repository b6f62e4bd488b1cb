// SPDX-License-Identifier: BSD-3-Clause
#include "membership/seals.hpp"

namespace stretto::membership {

const std::string &Seals::seal(std::uint64_t key, const std::string &value, int asker,
                               Outbox &out) {
    const auto [at, first] = sealed_.try_emplace(key, value);
    if (!once_)
        at->second = value;
    if (first || asker == rank_)
        out.add(action::Sealed{key, at->second});
    if (first)
        for (const int member : members_)
            if (member != rank_ && member != asker)
                out.send(member, epoch_, Seal{key, at->second});
    return at->second;
}

void Seals::ask(std::uint64_t key, int arbiter, const std::string &value, Outbox &out) {
    if (arbiter == rank_) {
        seal(key, value, rank_, out);
        return;
    }
    if (const auto known = sealed_.find(key); known != sealed_.end())
        out.add(action::Sealed{key, known->second});
    else if (open_.try_emplace(key, Question{arbiter, value}).second)
        out.send(arbiter, epoch_, Ask{key, value});
}

void Seals::receive(int from, const Ask &ask, Outbox &out) {
    out.send(from, epoch_, Seal{ask.key, seal(ask.key, ask.value, from, out)});
}

void Seals::receive(const Seal &seal, Outbox &out) {
    open_.erase(seal.key);
    if (sealed_.try_emplace(seal.key, seal.value).second)
        out.add(action::Sealed{seal.key, seal.value});
}

void Seals::restored(int arbiter, Outbox &out) const {
    for (const auto &[key, question] : open_)
        if (question.arbiter == arbiter)
            out.send(arbiter, epoch_, Ask{key, question.value});
}

void Seals::forget(std::uint64_t from, std::uint64_t below) {
    sealed_.erase(sealed_.lower_bound(from), sealed_.lower_bound(below));
}

} // namespace stretto::membership
