// SPDX-License-Identifier: BSD-3-Clause
// Time.  Ticks cost a few nanoseconds and are what the hot path records; seconds are what people
// read.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stretto {

inline std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

// The time-stamp counter where it is invariant, else nanoseconds.
inline std::uint64_t now_ticks() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return now_ns();
#endif
}

// Measured once per process against the steady clock (2 ms).
double ns_per_tick();

// For messages: "600 s", "0.5 s".
std::string in_seconds(std::uint64_t nanoseconds);

} // namespace stretto
