// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include "base/clock.hpp"
#include "base/mix.hpp"

using namespace stretto;

TEST_CASE("the time-stamp counter is a clock only if processor and kernel say so") {
    constexpr unsigned kInvariant = 1u << 8;
    CHECK(tsc_is_steady(kInvariant, "tsc\n"));
    CHECK(tsc_is_steady(~0u, "tsc"));
    CHECK(tsc_is_steady(kInvariant, "hyperv_clocksource_tsc_page\n"));
    CHECK(tsc_is_steady(kInvariant, "")); // the kernel does not tell
    CHECK_FALSE(tsc_is_steady(0, "tsc\n"));
    CHECK_FALSE(tsc_is_steady(~kInvariant, "tsc\n"));
    for (const char *other : {"hpet\n", "acpi_pm\n", "kvm-clock\n", "jiffies\n", "tsc-early\n"})
        CHECK_FALSE(tsc_is_steady(kInvariant, other));
}

TEST_CASE("ticks are time, by whichever clock") {
    const std::uint64_t began = now_ns(), first = now_ticks();
    while (now_ns() - began < 5'000'000)
        ;
    CHECK(static_cast<double>(now_ticks() - first) * ns_per_tick() > 4.9e6);
    if (!kTscIsSteady)
        CHECK(ns_per_tick() == 1.0);
}

TEST_CASE("the hash of a text is the same in every build") {
    CHECK(mix("") == 0);
    CHECK(mix("ring") == 16851314810922621572u);
    CHECK(mix("recursive_doubling") == 10404676427871825763u);
    CHECK(mix("ring") != mix(std::string_view("ring\0", 5)));
    CHECK(mix("01234567") != mix("012345678"));
    static_assert(mix("ring") == mix(std::string_view("a ring").substr(2)));
}
