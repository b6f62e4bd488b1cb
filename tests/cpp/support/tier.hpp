// SPDX-License-Identifier: BSD-3-Clause
// How much a test runs: what fits into every build, or everything (`make test-full`).
#pragma once

#include <cstdlib>
#include <string_view>

namespace test {

inline bool full_tier() {
    const char *const value = std::getenv("STRETTO_TEST_FULL");
    return value != nullptr && std::string_view(value) == "1";
}

} // namespace test
