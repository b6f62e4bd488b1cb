// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/history.hpp"

#include <algorithm>

namespace stretto::arrival {

void History::add(std::span<const std::int64_t> arrivals) {
    const std::int64_t first = *std::ranges::min_element(arrivals);
    if (first == kUnknown)
        return;
    std::vector<double> &late = recent_.emplace_back();
    for (const std::int64_t each : arrivals)
        late.push_back(static_cast<double>(each - first) * 1e-9);
    if (recent_.size() > kCalls)
        recent_.pop_front();
    ++calls_;
}

std::vector<double> History::expected() const {
    if (recent_.empty())
        return {};
    std::vector<double> found, of_rank(recent_.size());
    for (std::size_t rank = 0; rank < recent_.front().size(); ++rank) {
        for (std::size_t call = 0; call < recent_.size(); ++call)
            of_rank[call] = recent_[call][rank];
        const auto middle = of_rank.begin() + static_cast<std::ptrdiff_t>(of_rank.size() / 2);
        std::ranges::nth_element(of_rank, middle);
        found.push_back(*middle);
    }
    const double first = *std::ranges::min_element(found);
    for (double &each : found)
        each -= first;
    return found;
}

} // namespace stretto::arrival
