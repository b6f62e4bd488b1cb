// SPDX-License-Identifier: BSD-3-Clause
#define DOCTEST_CONFIG_IMPLEMENT
#include "doctest.h"

#include <cstdlib>

// STRETTO_TEST_EXCLUDE names test cases that do not run where these tests run: emulated.cmake.
int main(int count, char **arguments) {
    doctest::Context context(count, arguments);
    if (const char *const excluded = std::getenv("STRETTO_TEST_EXCLUDE"))
        context.addFilter("test-case-exclude", excluded);
    return context.run();
}
