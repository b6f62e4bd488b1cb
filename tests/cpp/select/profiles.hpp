// SPDX-License-Identifier: BSD-3-Clause
// Profiles that are changed, and refused.
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

// The text with `to` in place of the first `from`, which it has to contain.
inline std::string changed(std::string text, const std::string &from, const std::string &to) {
    const std::size_t at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    return text.replace(at, from.size(), to);
}

} // namespace test
