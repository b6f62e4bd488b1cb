// SPDX-License-Identifier: BSD-3-Clause
// Data whose reduction is known exactly: it depends on rank and index, and no order of summation or
// rounding can change the answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "stretto/stretto.h"

namespace test {

template<class T>
constexpr stretto_dtype dtype_of() {
    if constexpr (std::is_same_v<T, float>)
        return STRETTO_FLOAT32;
    else if constexpr (std::is_same_v<T, double>)
        return STRETTO_FLOAT64;
    else if constexpr (sizeof(T) == 4)
        return STRETTO_INT32;
    else
        return STRETTO_INT64;
}

// No period in the index, so that a block is seen that is off by any number of elements or slices.
// Sums stay below 2^24 at 64 ranks; products are of +-1 and at most four 2s.
template<class T>
T contribution(stretto_op op, int rank, std::size_t index) {
    const auto r = static_cast<std::uint64_t>(rank);
    const std::uint64_t place = index * 0x9e3779b97f4a7c15u; // its high bits are spread evenly
    const std::uint64_t mixed = place + r * 0xc2b2ae3d27d4eb4fu;
    const std::uint64_t bits = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u >> 40;
    if (op == STRETTO_PROD)
        return static_cast<T>((1 - 2 * static_cast<int>(bits & 1)) * (1 + (place >> 60 == r % 16)));
    return static_cast<T>(static_cast<std::int64_t>(bits * 8191 >> 24) - 4000);
}

template<class T>
T combine(stretto_op op, T a, T b) {
    switch (op) {
    case STRETTO_SUM: return a + b;
    case STRETTO_PROD: return a * b;
    case STRETTO_MIN: return std::min(a, b);
    default: return std::max(a, b);
    }
}

template<class T>
T expected(stretto_op op, int ranks, std::size_t index) {
    T result = contribution<T>(op, 0, index);
    for (int rank = 1; rank < ranks; ++rank)
        result = combine(op, result, contribution<T>(op, rank, index));
    return result;
}

} // namespace test
