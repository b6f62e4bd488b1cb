// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/phase.hpp"

#include <algorithm>
#include <vector>

namespace stretto::arrival {

void Phase::begin(std::uint64_t now) {
    begun_ = true;
    edges_ = false;
    start_ = now;
}

std::optional<Phase::Foreseen> Phase::edge(std::uint64_t now, double fraction) {
    if (!begun_)
        return std::nullopt;
    edges_ = true;
    if (durations_.size() < kFewest)
        return std::nullopt;
    std::vector<std::uint64_t> sorted(durations_.begin(), durations_.end());
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
    if (call != call_)
        durations_.clear();
    call_ = call;
    durations_.push_back(now - start_);
    if (durations_.size() > kPhases)
        durations_.pop_front();
    return edges_;
}

} // namespace stretto::arrival
