// SPDX-License-Identifier: BSD-3-Clause
// Abelian groups Z_n0 x Z_n1 x ... whose elements are the positions: each adds to all positions at
// once, and takes any of them to any other (they act transitively).
//
// Position p is written with a digit for each factor, the first the most significant one:
//
//   2 x 3     position  0   1   2   3   4   5
//             digits    00  01  02  10  11  12
//
// (6) is the cyclic group, and (2, 2, 2) the one whose elements are their own inverses: adding in a
// factor of 2 is what hypercubes call exchanging along a dimension.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/schedule.hpp"

namespace stretto::algorithms {

class Group {
public:
    explicit Group(std::vector<schedule::Position> orders); // each at least 2

    schedule::Position size() const;
    std::size_t factors() const { return orders_.size(); }
    schedule::Position order(std::size_t factor) const { return orders_[factor]; }

    schedule::Position digit(schedule::Position position, std::size_t factor) const;
    // The position whose digit of `factor` is greater by `by`, around its circle.
    schedule::Position moved(schedule::Position position, std::size_t factor,
                             schedule::Position by) const;

private:
    std::vector<schedule::Position> orders_;
    std::vector<schedule::Position> strides_; // what one more in a digit is worth
};

} // namespace stretto::algorithms
