// SPDX-License-Identifier: BSD-3-Clause
// How a vector is cut into blocks, always on element borders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stretto::schedule {

using Position = std::int32_t;
using Block = std::int32_t;

// A partition is a list of levels; each level cuts every block of the one before it in the
// proportion of its weights.  So it is closed under composition: chunks x leaders x hosts.
//
// A level of n equal weights cuts c elements into n blocks of c/n, the first c % n of them one
// element longer.  Unequal weights w: boundary i lies at floor(c * (w_0 + ... + w_{i-1}) / sum w).
// Blocks may be empty.
class Partition {
public:
    Partition() : levels_{{1}} {}
    static Partition even(Block blocks);
    // As even(), but only for counts that are multiples of `blocks`, so that all blocks are equal.
    static Partition equal(Block blocks);
    static Partition weighted(std::vector<std::uint64_t> weights); // sum > 0

    // This partition with each block cut by `inner`: block b becomes blocks b*k ... b*k + k - 1.
    Partition refine(const Partition &inner) const;
    Partition refine(Block pieces) const { return refine(even(pieces)); }

    Block blocks() const { return blocks_; }
    // The partition is for counts that are multiples of this; 1 unless made by equal().
    std::size_t quantum() const { return quantum_; }
    // The least count that is at least `count` and that this partition is for.
    std::size_t fitting(std::size_t count) const {
        return (count + quantum_ - 1) / quantum_ * quantum_;
    }
    // blocks() + 1 non-decreasing element offsets, from 0 to count.  Throws Error(argument) if
    // count is not a multiple of quantum().
    std::vector<std::size_t> bounds(std::size_t count) const;

    // True if the two blocks have the same size for every count, as far as the levels prove it.  A
    // block is reached by one index per level; the sizes agree if the indices do, except on levels
    // that equal() cuts, where any two pieces agree.  A weight of 0 on the way makes a block empty.
    //
    //   even(4)             only b and b         equal(4)            any two
    //   even(3).refine(2)   only b and b         equal(3).refine(2)  0, 2, 4 and 1, 3, 5
    bool same_size(Block a, Block b) const;

    const std::vector<std::vector<std::uint64_t>> &levels() const { return levels_; }
    bool operator==(const Partition &) const = default;

private:
    std::vector<std::vector<std::uint64_t>> levels_; // equal weights are kept as ones
    Block blocks_ = 1;
    std::size_t quantum_ = 1; // 1, or the number of blocks of the levels that equal() cuts
};

} // namespace stretto::schedule
