// SPDX-License-Identifier: BSD-3-Clause
#include "base/clock.hpp"

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

} // namespace stretto
