// SPDX-License-Identifier: BSD-3-Clause
// What is usual: of each column of a table its median, the upper one of an even number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stretto {

// Rows of numbers, as long as one another; at least one row.
template<class Rows>
std::vector<double> medians(const Rows &rows) {
    std::vector<double> found(rows.front().size()), column(rows.size());
    for (std::size_t c = 0; c < found.size(); ++c) {
        std::ranges::transform(rows, column.begin(), [c](const auto &row) { return row[c]; });
        const auto middle = column.begin() + static_cast<std::ptrdiff_t>(column.size() / 2);
        std::ranges::nth_element(column, middle);
        found[c] = *middle;
    }
    return found;
}

} // namespace stretto
