// SPDX-License-Identifier: BSD-3-Clause
#include "arrival/detection.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/medians.hpp"

namespace stretto::arrival {

std::vector<cost::Arrivals> by_position(std::span<const cost::Arrivals> recent) {
    std::vector<cost::Arrivals> sorted(recent.begin(), recent.end());
    for (cost::Arrivals &each : sorted) {
        std::ranges::sort(each);
        const double first = each.front();
        for (double &arrival : each)
            arrival -= first;
    }
    return sorted;
}

cost::Arrivals shape_of(std::span<const cost::Arrivals> recent) {
    return medians(by_position(recent));
}

std::optional<Detection> detection_for(const cost::Arrivals &shape, double grace) {
    const std::size_t ranks = shape.size();
    Detection best{0, grace};
    double longest = grace;
    for (std::size_t late = 1; late <= ranks / 2; ++late)
        if (const double gap = shape[ranks - late] - shape[ranks - late - 1]; gap > longest) {
            longest = gap;
            best.late = static_cast<int>(late);
        }
    return best.late > 0 ? std::optional(best) : std::nullopt;
}

Detected detected(const cost::Arrivals &arrivals, const Detection &detection) {
    Detected found{.begin = arrivals};
    std::ranges::sort(found.begin);
    const auto sum = [&] { return std::accumulate(found.begin.begin(), found.begin.end(), 0.0); };
    const double came = sum();
    const double others =
        found.begin[found.begin.size() - static_cast<std::size_t>(detection.late) - 1];
    found.late = found.begin.back() > others + detection.grace;
    const double known =
        (found.late ? others + detection.grace : found.begin.back()) + kDetectionSeconds;
    for (double &each : found.begin)
        each = std::max(each, known);
    found.waited = (sum() - came) / static_cast<double>(arrivals.size());
    const double first = found.begin.front();
    for (double &each : found.begin)
        each -= first;
    return found;
}

std::vector<int> late_last(int ranks, std::span<const int> late) {
    std::vector<int> order;
    for (int rank = 0; rank < ranks; ++rank)
        if (std::ranges::find(late, rank) == late.end())
            order.push_back(rank);
    order.insert(order.end(), late.begin(), late.end());
    return order;
}

} // namespace stretto::arrival
