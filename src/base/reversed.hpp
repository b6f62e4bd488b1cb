// SPDX-License-Identifier: BSD-3-Clause
// A range from its last element to its first.
#pragma once

#include <iterator>
#include <utility>

namespace stretto {

// Holds a temporary range, refers to any other.
template<class Range>
class Reversed {
public:
    explicit Reversed(Range &&range) : range_(std::forward<Range>(range)) {}

    auto begin() const { return std::rbegin(range_); }
    auto end() const { return std::rend(range_); }

private:
    Range range_;
};

// As std::views::reverse, which Clang 15 cannot compile with the library of GCC 12.
template<class Range>
Reversed<Range> reversed(Range &&range) {
    return Reversed<Range>(std::forward<Range>(range));
}

} // namespace stretto
