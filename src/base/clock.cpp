// SPDX-License-Identifier: BSD-3-Clause
#include "base/clock.hpp"

#include <array>
#include <cstdio>

namespace stretto {

static double measure_ns_per_tick() {
    constexpr std::uint64_t kSpan = 2'000'000; // long enough for a relative error below 1e-4
    const std::uint64_t start_ns = now_ns();
    const std::uint64_t start = now_ticks();
    std::uint64_t end_ns = start_ns;
    while (end_ns - start_ns < kSpan)
        end_ns = now_ns();
    const std::uint64_t ticks = now_ticks() - start;
    return static_cast<double>(end_ns - start_ns) / static_cast<double>(ticks);
}

double ns_per_tick() {
    static const double value = measure_ns_per_tick();
    return value;
}

std::string in_seconds(std::uint64_t nanoseconds) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g s", static_cast<double>(nanoseconds) * 1e-9);
    return text.data();
}

} // namespace stretto
