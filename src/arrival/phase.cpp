// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/phase.hpp"

#include <algorithm>
#include <vector>

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
    std::vector<std::uint64_t> sorted(found->second.begin(), found->second.end());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::ranges::nth_element(sorted, middle);
    const double whole = static_cast<double>(now - start_) / fraction;
    return Foreseen{start_ + static_cast<std::uint64_t>(whole),
                    static_cast<std::int64_t>(whole - static_cast<double>(*middle))};
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
