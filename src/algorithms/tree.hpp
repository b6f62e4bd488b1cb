// SPDX-License-Identifier: BSD-3-Clause
// The binomial tree over positions, for any root and any number of ranks, in the order of
// positions.
//
// A range of positions is split at the largest power of two below its size; each half has a head:
// the root if it is in there, else its first position.  The head of the half without the root
// (or, if neither has it, of the right half) talks to the other head, which heads the whole.
//
//   7 ranks, root 0                      7 ranks, root 5 (heads in brackets)
//   [0] 1 2 3 4 5 6                      0 1 2 3 4 [5] 6
//   [0] 1 2 3 | [4] 5 6     0 - 4        [0] 1 2 3 | 4 [5] 6     5 - 0
//   [0] 1|[2] 3 [4] 5|[6]   0-2, 4-6     [0] 1|[2] 3 4 [5]|[6]   0-2, 5-6
//   0|1   2|3   4|5         0-1 2-3 4-5  0|1   2|3   4|5         0-1 2-3 5-4
//
// Other binomial trees renumber positions so that the root becomes 0, which rotates the operands.
// This one does not: it computes the canonical tree for every root.
#pragma once

#include <bit>
#include <vector>

#include "algorithms/assemble.hpp"

namespace stretto::algorithms {

struct Range {
    Position first, size;
    bool contains(Position position) const { return position >= first && position < first + size; }
    Position head(Position root) const { return contains(root) ? root : first; }
};

// An edge of the tree: the head of the whole, and the head of one half with that half.
struct Edge {
    Position parent, child;
    Range below; // the child's
};

// The edges of one position, from the top of the tree to its leaves.
inline std::vector<Edge> edges(Position position, Position ranks, Position root) {
    std::vector<Edge> found;
    Range range{0, ranks};
    while (range.size > 1) {
        const auto size = static_cast<std::uint32_t>(range.size);
        const auto split = static_cast<Position>(std::bit_floor(size - 1));
        const Range left{range.first, split};
        const Range right{range.first + split, range.size - split};
        const Range &other = right.contains(root) ? left : right;
        const Edge edge{range.head(root), other.head(root), other};
        if (position == edge.parent || position == edge.child)
            found.push_back(edge);
        range = left.contains(position) ? left : right;
    }
    return found;
}

} // namespace stretto::algorithms
