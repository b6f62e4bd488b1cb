// SPDX-License-Identifier: BSD-3-Clause
// A thread whose yields take long sleeps instead.
#include "doctest.h"

#include "transport/wait/yield_pacing.hpp"

using stretto::transport::YieldPacing;

TEST_CASE("short yields go on") {
    YieldPacing pacing;
    CHECK(pacing.worthwhile(0));
    CHECK(pacing.record(1'000, 1'000 + YieldPacing::kLongNs - 1));
    CHECK(pacing.worthwhile(1'000 + YieldPacing::kLongNs));
}

TEST_CASE("after a long yield there is none until a multiple of its time has passed") {
    YieldPacing pacing;
    constexpr std::uint64_t kTookNs = 1'400'000, kAfterNs = 5'000'000 + kTookNs;
    CHECK_FALSE(pacing.record(5'000'000, kAfterNs));
    constexpr std::uint64_t kAgainNs = kAfterNs + YieldPacing::kRestFactor * kTookNs;
    CHECK_FALSE(pacing.worthwhile(kAfterNs));
    CHECK_FALSE(pacing.worthwhile(kAgainNs - 1));
    CHECK(pacing.worthwhile(kAgainNs));
    // All yields take as long: the thread spends a small part of its time in them.
    CHECK_FALSE(pacing.record(kAgainNs, kAgainNs + kTookNs));
    CHECK_FALSE(pacing.worthwhile(kAgainNs + kTookNs));
}
