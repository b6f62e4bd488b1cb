// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/history.hpp"

#include <algorithm>
#include <limits>

#include "base/medians.hpp"

namespace stretto::arrival {

// Not a number if one of them is not known.
static double mean_took(std::span<const Stamp> stamps) {
    double sum = 0;
    for (const Stamp &each : stamps)
        sum += each.took == kUnknown ? std::numeric_limits<double>::quiet_NaN()
                                     : static_cast<double>(each.took) * 1e-9;
    return sum / static_cast<double>(stamps.size());
}

void History::add(std::span<const Stamp> stamps) {
    if (has_latest_)
        elapsed_.back() = mean_took(stamps);
    const std::int64_t first = std::ranges::min(stamps, {}, &Stamp::came).came;
    has_latest_ = first != kUnknown;
    if (!has_latest_)
        return;
    std::vector<double> &late = recent_.emplace_back();
    for (const Stamp &each : stamps)
        late.push_back(static_cast<double>(each.came - first) * 1e-9);
    elapsed_.push_back(std::numeric_limits<double>::quiet_NaN());
    if (recent_.size() > kCalls) {
        recent_.pop_front();
        elapsed_.pop_front();
    }
    ++calls_;
}

std::vector<double> History::expected() const {
    if (recent_.empty())
        return {};
    std::vector<double> found = medians(recent_);
    const double first = *std::ranges::min_element(found);
    for (double &each : found)
        each -= first;
    return found;
}

} // namespace stretto::arrival
