// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/decisions.hpp"

#include <cstddef>

#include "base/mix.hpp"

namespace stretto::arrival {

Decisions::Decisions(DecisionService &service, std::uint64_t communicator, std::vector<int> ranks,
                     int rank, std::function<void()> progress)
    : service_(service), communicator_(communicator), ranks_(std::move(ranks)), rank_(rank),
      progress_(std::move(progress)) {}

// The low half counts.
std::uint64_t Decisions::key_of(const ArrivalState &state, About about, std::uint64_t call) const {
    const std::uint64_t kind = state.number << 2 | static_cast<std::uint64_t>(about);
    return mix(communicator_, kind) << 32 | (call & 0xffffffff);
}

int Decisions::coordinator_of(const ArrivalState &state) const {
    return ranks_[state.number % ranks_.size()];
}

bool Decisions::coordinates(const ArrivalState &state) const {
    return coordinator_of(state) == ranks_[static_cast<std::size_t>(rank_)];
}

std::string Decisions::decided(std::uint64_t key, const ArrivalState &state) const {
    return service_.decided(key, coordinator_of(state), progress_);
}

void Decisions::forget_before(std::uint64_t key) const {
    service_.forget(key & ~0xffffffffull, key);
}

void Decisions::forget_old(std::uint64_t key, const ArrivalState &state) const {
    constexpr std::uint64_t kKeptCalls = 16; // calls
    if (state.calls % kKeptCalls == 0)
        forget_before(key);
}

} // namespace stretto::arrival
