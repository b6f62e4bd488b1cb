// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/lateness.hpp"

#include <algorithm>
#include <cmath>

namespace stretto::algorithms {

Position Lateness::late() const {
    std::size_t first = arrivals.size();
    double longest = -1;
    for (std::size_t p = arrivals.size(); p-- > 1;)
        if (const double gap = arrivals[p] - arrivals[p - 1]; gap > longest) {
            longest = gap;
            first = p;
        }
    return ranks() - static_cast<Position>(first);
}

std::int64_t Lateness::pieces(double steps) const {
    constexpr double kMostPieces = 256;
    const double best = std::sqrt(steps * vector() / std::max(message, 1e-9));
    return std::lround(std::clamp(best, 1.0, std::min(kMostPieces, static_cast<double>(elements))));
}

std::int64_t Lateness::slices() const {
    return slice == 0 ? 1 : static_cast<std::int64_t>((bytes + slice - 1) / slice);
}

} // namespace stretto::algorithms
