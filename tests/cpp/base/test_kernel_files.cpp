// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include "base/kernel_files.hpp"
#include "base/memory.hpp"

using namespace stretto;

TEST_CASE("available memory") {
    CHECK(available_of("MemTotal:  9 kB\nMemAvailable:   17 kB\nX: 1\n") == 17 << 10);
    CHECK(available_of("MemAvailable:17") == 17 << 10);
    CHECK_FALSE(available_of("XMemAvailable: 17 kB\n"));
    CHECK_FALSE(available_of("MemAvailable: much\n"));
    CHECK_FALSE(available_of("MemAvailable: 99999999999999999999 kB\n"));
    CHECK_FALSE(available_of(""));
    CHECK(available_memory() > 0);
}

TEST_CASE("a file that cannot be read is empty") {
    CHECK(contents("/proc/self/stat") != "");
    CHECK(contents("/no/such/file") == "");
    CHECK(contents("/proc") == ""); // can be opened, but not read
}

TEST_CASE("the parent of a process, whatever it is called") {
    const auto process = process_of("17 (a) S 3 (x) R 5 17 0");
    REQUIRE(process);
    CHECK(process->name == "a) S 3 (x");
    CHECK(process->state == 'R');
    CHECK(process->parent == 5);
    for (const char *bad : {"", "17", "17 (a", "17 a)", ")(", "17 (a)", "17 (a) S", "17 (a) S x"})
        CHECK_FALSE(process_of(bad));
    CHECK(process_of(contents("/proc/self/stat")));

    CHECK(
        start_of("17 (a) S 3 (x) R 5 17 0 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 77 99") ==
        "19");
    CHECK(start_of("17 (a) R 5 17 0") == "?");
    CHECK(start_of("") == "?");
    CHECK(start_of(contents("/proc/self/stat")) != "?");
    CHECK(contents("/no/such/file") == "");
}
