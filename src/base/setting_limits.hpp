// SPDX-License-Identifier: BSD-3-Clause
// Limits of values of settings.
#pragma once

#include <cstdint>

namespace stretto {

inline constexpr std::uint64_t kLongestNs =
    1'000'000'000'000'000'000; // 31 years; sums of such times still fit
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46; // of address space
inline constexpr std::uint64_t kMostRanks = 65536;

} // namespace stretto
