// SPDX-License-Identifier: BSD-3-Clause
// What another implementation counted and timed, which was checked against the papers
// (tests/cpp/data/golden.json).
#pragma once

#include "doctest.h"

#include <fstream>
#include <nlohmann/json.hpp>

namespace stretto::test {

inline nlohmann::json golden(const char *what) {
    std::ifstream file(STRETTO_TEST_DATA "/golden.json");
    REQUIRE(file);
    return nlohmann::json::parse(file).at(what);
}

} // namespace stretto::test
