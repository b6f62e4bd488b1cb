// SPDX-License-Identifier: BSD-3-Clause
// Sums of vectors that are long enough for it to matter when ranks come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/world.hpp"

namespace test {

inline constexpr std::size_t kLongSum = 131'073; // of float64

inline std::string algorithm_of_long_sum(stretto_comm comm) {
    const char *name = nullptr;
    check(stretto_chosen_algorithm(comm, "allreduce", kLongSum, STRETTO_FLOAT64, &name));
    return name;
}

// How many elements are wrong.  Sums of small integers, which are exact.
inline int wrong_after_long_sum(stretto_comm comm, int turn) {
    const int rank = stretto_rank(comm), ranks = stretto_size(comm);
    const auto of = [&](std::size_t i) {
        return static_cast<double>((i + static_cast<std::size_t>(turn)) % 1000);
    };
    std::vector<double> values(kLongSum);
    for (std::size_t i = 0; i < kLongSum; ++i)
        values[i] = rank + of(i);
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, values.data(), kLongSum, STRETTO_FLOAT64,
                            STRETTO_SUM));
    int wrong = 0;
    for (std::size_t i = 0; i < kLongSum; ++i)
        wrong += values[i] != ranks * (ranks - 1) / 2 + ranks * of(i);
    return wrong;
}

// Whether all ranks say the same.  Collective.
inline bool same_everywhere(stretto_comm comm, const std::string &name) {
    const auto hash = static_cast<std::int64_t>(std::hash<std::string>()(name) >> 8);
    std::array<std::int64_t, 2> both = {hash, -hash};
    check(stretto_allreduce(comm, STRETTO_IN_PLACE, both.data(), 2, STRETTO_INT64, STRETTO_MAX));
    return both[0] == -both[1];
}

} // namespace test
