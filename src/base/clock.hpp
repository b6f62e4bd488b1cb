// SPDX-License-Identifier: BSD-3-Clause
// Time.  Ticks cost a few nanoseconds, so hot paths record ticks; messages show seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stretto {

inline std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

// Whether the time-stamp counter is a clock: it runs at one rate in all states of the processor
// (`edx` of CPUID 0x80000007, bit 8), and the kernel keeps its own time by it (`clocksource`, as
// /sys names it; "" if it does not tell).  The kernel drops the counter where cores disagree.
bool tsc_is_steady(unsigned edx, std::string_view clocksource);

// Measured on this machine before main() begins.
extern const bool kTscIsSteady;

// The time-stamp counter where it is a clock, else nanoseconds.
inline std::uint64_t now_ticks() {
#if defined(__x86_64__)
    if (kTscIsSteady) [[likely]]
        return __rdtsc();
#endif
    return now_ns();
}

// Measured once per process against the steady clock (2 ms); 1 where ticks are nanoseconds.
double ns_per_tick();

// Processor time that the calling thread has used, in nanoseconds.
std::uint64_t thread_processor_ns();

// For messages: "600 s", "0.5 s".
std::string in_seconds(std::uint64_t nanoseconds);

} // namespace stretto
