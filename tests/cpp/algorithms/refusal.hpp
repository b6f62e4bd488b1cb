// SPDX-License-Identifier: BSD-3-Clause
// What is said when something is refused.
#pragma once

#include "doctest.h"

#include <functional>
#include <string>

#include "base/status.hpp"

namespace stretto::test {

inline std::string message(Status wanted, const std::function<void()> &body) {
    try {
        body();
    } catch (const Error &error) {
        CHECK(error.status() == wanted);
        return error.what();
    }
    FAIL("no error");
    return "";
}

} // namespace stretto::test
