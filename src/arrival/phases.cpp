// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/phases.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/clock.hpp"
#include "base/status.hpp"

namespace stretto::arrival {

void Phases::begin() {
    const std::lock_guard lock(mutex_);
    phase_.begin(now_ns());
    if (const auto next = next_.find(phase_.coming()); next != next_.end())
        next->second.timed = false;
}

void Phases::edge(double fraction) {
    if (!(fraction > 0 && fraction <= 1))
        throw Error(Status::argument,
                    "a part of a phase is above 0 and at most 1, not " + std::to_string(fraction));
    const std::lock_guard lock(mutex_);
    const auto foreseen = phase_.edge(now_ns(), fraction);
    const auto found = next_.find(phase_.coming());
    if (!foreseen || found == next_.end() || !found->second.asks)
        return;
    NextCall &next = found->second;
    const std::int64_t later = foreseen->late - next.expected;
    const bool news = std::abs(static_cast<double>(later - next.announced)) * 1e-9 >= next.margin;
    if (news) {
        next.announced = later;
        service_->notify(next.key, next.coordinator, later);
    }
    if (next.decides && (news || !next.timed)) {
        next.timed = true;
        const std::int64_t ahead = std::max<std::int64_t>(0, foreseen->late); // of this rank
        service_->decide_before(next.key, foreseen->end - static_cast<std::uint64_t>(ahead));
    }
}

bool Phases::end(const ArrivalState &state, std::uint64_t now) {
    const std::lock_guard lock(mutex_);
    next_[state.number].asks = false;
    return phase_.end(now, state.number);
}

void Phases::came(double seconds) {
    const std::lock_guard lock(mutex_);
    phase_.came(static_cast<std::int64_t>(seconds * 1e9));
}

void Phases::expect(const ArrivalState &state, const NextCall &next) {
    const std::lock_guard lock(mutex_);
    next_[state.number] = next;
}

} // namespace stretto::arrival
