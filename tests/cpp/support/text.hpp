// SPDX-License-Identifier: BSD-3-Clause
// What messages are asked.
#pragma once

#include <string_view>

namespace test {

inline bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

} // namespace test
