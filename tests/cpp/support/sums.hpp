// SPDX-License-Identifier: BSD-3-Clause
// What ranks contribute to an allreduce of the engine's tests, and what it must give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stretto::test {

using Vector = std::vector<std::int64_t>;

inline std::int64_t contribution(int rank, std::size_t index) {
    return static_cast<std::int64_t>(index * 37 + static_cast<std::size_t>(rank) * 100'003);
}

// Elements of a result that are not the sum over all ranks.
inline std::size_t wrong_sums(const Vector &output, int ranks) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
        std::int64_t sum = 0;
        for (int rank = 0; rank < ranks; ++rank)
            sum += contribution(rank, i);
        wrong += output[i] != sum;
    }
    return wrong;
}

} // namespace stretto::test
