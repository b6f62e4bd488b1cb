// SPDX-License-Identifier: BSD-3-Clause
// Measured rules: what serves best where all that can serve may.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "select/select.hpp"

namespace stretto::select {

// What serves best, and what serves where that one may not: the second promises more.  "": none.
struct Rule {
    std::array<std::string_view, 2> names;
    std::string why;
    // Whether it was measured on about as many hosts: there it decides what prices cannot.
    bool holds = true;
};

Rule rule(const Situation &situation);

} // namespace stretto::select
