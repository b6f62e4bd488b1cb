// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/partition.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "base/status.hpp"

namespace stretto::schedule {

namespace {

using Weights = std::vector<std::uint64_t>;

bool is_even(const Weights &weights) {
    return std::all_of(weights.begin(), weights.end(),
                       [&](std::uint64_t weight) { return weight == weights.front(); });
}

// Appends the ends of the pieces that `weights` cut [begin, begin + size) into.
//
//   10 elements, weights 1 1 1:  pieces 4 3 3
//   10 elements, weights 1 2 4:  boundaries 10*1/7 = 1, 10*3/7 = 4, 10
void cut(std::size_t begin, std::size_t size, const Weights &weights, std::size_t *ends) {
    const std::size_t pieces = weights.size();
    if (is_even(weights)) {
        for (std::size_t i = 1; i <= pieces; ++i)
            ends[i - 1] = begin + i * (size / pieces) + std::min(i, size % pieces);
        return;
    }
    __extension__ using Wide = unsigned __int128; // size * weight may pass 64 bits
    const Wide sum = std::accumulate(weights.begin(), weights.end(), Wide{0});
    Wide before = 0;
    for (std::size_t i = 0; i < pieces; ++i) {
        before += weights[i];
        ends[i] = begin + static_cast<std::size_t>(Wide{size} * before / sum);
    }
}

void refuse(const std::string &what) {
    throw Error(Status::argument, "partition: " + what);
}

} // namespace

Partition Partition::even(Block blocks) {
    if (blocks < 1)
        refuse("cannot cut into " + std::to_string(blocks) + " blocks; at least 1 is needed");
    Partition made;
    made.levels_ = {Weights(static_cast<std::size_t>(blocks), 1)};
    made.blocks_ = blocks;
    return made;
}

Partition Partition::equal(Block blocks) {
    Partition made = even(blocks);
    made.quantum_ = static_cast<std::size_t>(blocks);
    return made;
}

Partition Partition::weighted(std::vector<std::uint64_t> weights) {
    if (weights.empty() || weights.size() > std::size_t{std::numeric_limits<Block>::max()})
        refuse("cannot cut into " + std::to_string(weights.size()) + " blocks");
    std::uint64_t sum = 0;
    for (const std::uint64_t weight : weights)
        if (__builtin_add_overflow(sum, weight, &sum))
            refuse("the sum of the weights does not fit 64 bits; divide them by a common factor");
    if (sum == 0)
        refuse("all weights are 0; at least one must be positive");
    if (is_even(weights))
        return even(static_cast<Block>(weights.size()));
    Partition made;
    made.blocks_ = static_cast<Block>(weights.size());
    made.levels_ = {std::move(weights)};
    return made;
}

Partition Partition::refine(const Partition &inner) const {
    Partition made = *this;
    if (__builtin_mul_overflow(blocks_, inner.blocks_, &made.blocks_))
        refuse(std::to_string(blocks_) + " x " + std::to_string(inner.blocks_) +
               " blocks do not fit 31 bits");
    made.levels_.insert(made.levels_.end(), inner.levels_.begin(), inner.levels_.end());
    if (inner.quantum_ > 1) {
        // Pieces of unequal weights have no common divisor for which a count could be a multiple.
        if (!std::all_of(levels_.begin(), levels_.end(), is_even))
            refuse("equal pieces inside unequal weights hold for no count; use even pieces");
        made.quantum_ = static_cast<std::size_t>(blocks_) * inner.quantum_;
    }
    return made;
}

std::vector<std::size_t> Partition::bounds(std::size_t count) const {
    if (count % quantum_ != 0)
        refuse(std::to_string(count) + " elements are not a multiple of " +
               std::to_string(quantum_) + ", as equal blocks need");
    std::vector<std::size_t> bounds = {0, count};
    for (const Weights &weights : levels_) {
        std::vector<std::size_t> finer((bounds.size() - 1) * weights.size() + 1, 0);
        for (std::size_t i = 0; i + 1 < bounds.size(); ++i)
            cut(bounds[i], bounds[i + 1] - bounds[i], weights, &finer[i * weights.size() + 1]);
        bounds = std::move(finer);
    }
    return bounds;
}

bool Partition::same_size(Block a, Block b) const {
    if (a == b)
        return true;
    // From the innermost level outwards; `through` is the number of blocks down to this level.
    bool same = true, a_empty = false, b_empty = false;
    auto through = static_cast<std::size_t>(blocks_);
    auto index_a = static_cast<std::size_t>(a), index_b = static_cast<std::size_t>(b);
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
        const Weights &weights = *level;
        const std::size_t here_a = index_a % weights.size(), here_b = index_b % weights.size();
        a_empty = a_empty || weights[here_a] == 0;
        b_empty = b_empty || weights[here_b] == 0;
        const bool cut_equally = quantum_ % through == 0;
        same = same && (here_a == here_b || cut_equally);
        index_a /= weights.size();
        index_b /= weights.size();
        through /= weights.size();
    }
    return same || (a_empty && b_empty);
}

} // namespace stretto::schedule
