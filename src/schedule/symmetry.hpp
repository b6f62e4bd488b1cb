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
//
// A schedule that looks the same from every position has such a group: position p + g does the same
// as p, with g added to all peers.
#pragma once

#include <cstddef>
#include <vector>

#include "schedule/partition.hpp"

namespace stretto::schedule {

class Symmetry {
public:
    explicit Symmetry(std::vector<Position> orders); // each at least 2; none: of one position

    // The symmetry of this many positions in a circle.
    static Symmetry cyclic(Position ranks);

    Position size() const;
    std::size_t factors() const { return orders_.size(); }
    Position order(std::size_t factor) const { return orders_[factor]; }
    const std::vector<Position> &orders() const { return orders_; }

    Position digit(Position position, std::size_t factor) const;
    // The position whose digit of `factor` is greater by `by`, around its circle.
    Position moved(Position position, std::size_t factor, Position by) const;

    // Digit by digit.
    Position sum(Position a, Position b) const;
    Position difference(Position a, Position b) const; // a - b

    bool operator==(const Symmetry &) const = default;

private:
    std::vector<Position> orders_;
    std::vector<Position> strides_; // the value of each digit's unit
};

} // namespace stretto::schedule
