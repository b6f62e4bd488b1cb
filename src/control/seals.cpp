// SPDX-License-Identifier: BSD-3-Clause
#include "control/seals.hpp"

namespace stretto::control {

const std::string &Seals::seal(std::uint64_t key, const std::string &value) {
    std::string &sealed = sealed_.try_emplace(key, value).first->second;
    if (!once_)
        sealed = value;
    return sealed;
}

void Seals::ask(std::uint64_t key, int arbiter, const std::string &value, Outbox &out) {
    if (arbiter == rank_) {
        out.add(action::Sealed{key, seal(key, value)});
        return;
    }
    if (const auto known = sealed_.find(key); known != sealed_.end())
        out.add(action::Sealed{key, known->second});
    else if (open_.try_emplace(key, Question{arbiter, value}).second)
        out.send(arbiter, epoch_, Ask{key, value});
}

void Seals::receive(int from, const Ask &ask, Outbox &out) {
    out.send(from, epoch_, Seal{ask.key, seal(ask.key, ask.value)});
}

void Seals::receive(const Seal &seal, Outbox &out) {
    if (open_.erase(seal.key) == 0)
        return; // an answer to a question that was asked twice
    sealed_[seal.key] = seal.value;
    out.add(action::Sealed{seal.key, seal.value});
}

void Seals::restored(int arbiter, Outbox &out) const {
    for (const auto &[key, question] : open_)
        if (question.arbiter == arbiter)
            out.send(arbiter, epoch_, Ask{key, question.value});
}

void Seals::forget(std::uint64_t below) {
    sealed_.erase(sealed_.begin(), sealed_.lower_bound(below));
}

} // namespace stretto::control
