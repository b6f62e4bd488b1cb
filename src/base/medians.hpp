// SPDX-License-Identifier: BSD-3-Clause
// The median; of an even number of values, the upper one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stretto {

// The median of at least one number.
template<class Numbers>
auto median(Numbers numbers) {
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::ranges::nth_element(numbers, middle);
    return *middle;
}

// The median of each column.  There is at least one row, and all rows are equally long.
template<class Rows>
std::vector<double> medians(const Rows &rows) {
    std::vector<double> found(rows.front().size()), column(rows.size());
    for (std::size_t c = 0; c < found.size(); ++c) {
        std::ranges::transform(rows, column.begin(), [c](const auto &row) { return row[c]; });
        found[c] = median(column);
    }
    return found;
}

} // namespace stretto
