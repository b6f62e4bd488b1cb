// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/phase.hpp"

#include <vector>

#include "base/medians.hpp"

namespace stretto::arrival {

void Phase::begin(std::uint64_t now) {
    if (begun_)
        follow(kNone);
    begun_ = true;
    edges_ = false;
    start_ = now;
}

std::optional<Phase::Foreseen> Phase::edge(std::uint64_t now, double fraction) {
    if (!begun_)
        return std::nullopt;
    edges_ = true;
    const auto found = durations_.find(coming_);
    if (found == durations_.end() || found->second.size() < kFewest)
        return std::nullopt;
    const std::uint64_t usual =
        median(std::vector<std::uint64_t>(found->second.begin(), found->second.end()));
    const double whole = static_cast<double>(now - start_) / fraction;
    return Foreseen{start_ + static_cast<std::uint64_t>(whole),
                    static_cast<std::int64_t>(whole - static_cast<double>(usual))};
}

bool Phase::end(std::uint64_t now, std::uint64_t call) {
    if (!begun_)
        return false;
    begun_ = false;
    std::deque<std::uint64_t> &durations = durations_[call];
    durations.push_back(now - start_);
    if (durations.size() > kPhases)
        durations.pop_front();
    follow(call);
    return edges_;
}

// Unless it is known better, the same call comes again.
void Phase::follow(std::uint64_t call) {
    next_[latest_] = call;
    latest_ = call;
    coming_ = next_.try_emplace(call, call).first->second;
}

} // namespace stretto::arrival
