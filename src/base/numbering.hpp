// SPDX-License-Identifier: BSD-3-Clause
// Numbers from 0 on, in the order in which values are first met: 5 3 5 9 becomes 0 1 0 2.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace stretto {

// Hosts or caches, by rank: so two lists are equal if and only if the same ranks share the same.
inline std::vector<std::int32_t> numbered_in_order(std::span<const std::int32_t> given) {
    std::map<std::int32_t, std::int32_t> number;
    std::vector<std::int32_t> result;
    for (const std::int32_t each : given)
        result.push_back(
            number.emplace(each, static_cast<std::int32_t>(number.size())).first->second);
    return result;
}

} // namespace stretto
