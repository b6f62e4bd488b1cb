// SPDX-License-Identifier: BSD-3-Clause
// Profiles that are refused.
#pragma once

#include "doctest.h"

#include <string>

#include "base/status.hpp"
#include "select/profile_json.hpp"

namespace test {

// What is wrong with a text; "" if nothing is.
inline std::string wrong(const std::string &text) {
    try {
        (void)stretto::select::profile_from_json(text);
        return "";
    } catch (const stretto::Error &error) {
        CHECK(error.status() == stretto::Status::argument);
        return error.what();
    }
}

} // namespace test
