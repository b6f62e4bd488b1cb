// SPDX-License-Identifier: BSD-3-Clause
// How much a test runs: what fits into every build, or everything (`make test-full`).  A build with
// sanitizers is several times as slow and an emulated processor ten times, and both look for
// something else than wrong answers of the algorithms: a sample of what differs in kind will do
// there.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace test {

inline bool full_tier() {
    const char *const value = std::getenv("STRETTO_TEST_FULL");
    return value != nullptr && std::string_view(value) == "1";
}

inline bool sanitized() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
    return __has_feature(thread_sanitizer) || __has_feature(address_sanitizer);
#else
    return false;
#endif
}

// Whether each step of this program takes a thread's time, as tests/cpp/deferred has it: as slow.
inline bool deferred() {
#if defined(STRETTO_TEST_DEFERRED)
    return true;
#else
    return false;
#endif
}

// Whether instructions are those of another processor (make test-aarch64).
inline bool emulated() {
#if defined(STRETTO_TEST_EMULATED)
    return true;
#else
    return false;
#endif
}

// Whether ranks of different hosts are connected by a device for RDMA, which is emulated
// (tests/rdma): what takes microseconds elsewhere takes milliseconds there.
inline bool goes_by_device() {
    return std::getenv("STRETTO_TEST_UCX_TLS") != nullptr;
}
// How often something is done that is alike each time: this often, or a tenth of it there.
inline int repeated(int times) {
    constexpr int kSlownessFactor = 10;
    return goes_by_device() && !full_tier() ? std::max(1, times / kSlownessFactor) : times;
}

// Whether this is the sample.
inline bool sampled() {
    return (sanitized() || deferred() || emulated()) && !full_tier();
}

} // namespace test
