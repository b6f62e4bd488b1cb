// SPDX-License-Identifier: BSD-3-Clause
// Measured rules: the best algorithms that can run a call.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "select/select.hpp"

namespace stretto::select {

// The best algorithm, and the one for calls that it cannot run: the second promises more.  "":
// none.
struct Rule {
    std::array<std::string_view, 2> names;
    std::string why;
    // Whether it was measured on about as many hosts: there it decides what prices cannot.
    bool holds = true;
};

Rule rule(const Situation &situation);

} // namespace stretto::select
