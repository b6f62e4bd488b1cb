// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/early_steps.hpp"

#include <algorithm>
#include <string>

#include "base/status.hpp"

namespace stretto::algorithms {

double ring_step(Position ranks, std::size_t bytes, double alpha, double beta, double gamma) {
    return alpha + (beta + gamma) * static_cast<double>(bytes) / static_cast<double>(ranks);
}

Value early_steps(std::span<const double> arrivals, double step, double guard) {
    if (!std::ranges::is_sorted(arrivals))
        throw Error(Status::argument, "early_steps: arrivals of positions must ascend");
    if (!(step > 0))
        throw Error(Status::argument,
                    "early_steps: a step must take some time, not " + std::to_string(step) + " s");
    Value ahead(arrivals.size(), 0);
    for (std::size_t p = arrivals.size(); p-- > 1;) {
        const double waits = arrivals.back() - arrivals[p] - guard;
        ahead[p - 1] = ahead[p] + (waits >= static_cast<double>(ahead[p] + 1) * step ? 1 : 0);
    }
    return ahead;
}

} // namespace stretto::algorithms
