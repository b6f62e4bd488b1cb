// SPDX-License-Identifier: BSD-3-Clause
#include "base/clock.hpp"

#include <array>
#include <cstdio>
#include <ctime>

#include "base/kernel_files.hpp"
#include "base/lazy.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stretto {

bool tsc_is_steady(unsigned edx, std::string_view clocksource) {
    while (!clocksource.empty() && clocksource.back() == '\n')
        clocksource.remove_suffix(1);
    // The clock source of Hyper-V is this counter, scaled.
    return (edx >> 8 & 1) != 0 && (clocksource.empty() || clocksource == "tsc" ||
                                   clocksource == "hyperv_clocksource_tsc_page");
}

static bool probe_tsc() {
#if defined(__x86_64__)
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0)
        return false;
    return tsc_is_steady(
        edx, contents("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
#else
    return false;
#endif
}

const bool kTscIsSteady = probe_tsc();

static double measure_ns_per_tick() {
    if (!kTscIsSteady)
        return 1.0;
    constexpr std::uint64_t kSpanNs = 2'000'000; // long enough for a relative error below 1e-4
    const std::uint64_t start_ns = now_ns();
    const std::uint64_t start = now_ticks();
    std::uint64_t end_ns = start_ns;
    while (end_ns - start_ns < kSpanNs)
        end_ns = now_ns();
    const std::uint64_t ticks = now_ticks() - start;
    return static_cast<double>(end_ns - start_ns) / static_cast<double>(ticks);
}

static constinit Lazy<double> measured;

double ns_per_tick() {
    return measured.get(measure_ns_per_tick);
}

std::uint64_t thread_processor_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

std::string in_seconds(std::uint64_t nanoseconds) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g s", static_cast<double>(nanoseconds) * 1e-9);
    return text.data();
}

} // namespace stretto
