// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/block_rounds.hpp"

#include <algorithm>
#include <cstddef>

#include "algorithms/circulant.hpp"

namespace stretto::algorithms {

namespace {

// Finds the table of one rank, in O(log P) steps.
class Search {
public:
    Search(const std::vector<Position> &skips, Position rank)
        : skips_(skips), steps_(static_cast<int>(skips.size()) - 1), head_(steps_),
          wanted_(skips.back() + rank), bound_(2 * skips.back()), found_(skips.size() - 1, 0) {
        for (int e = 0; e <= steps_; ++e) {
            next_.push_back(e - 1);
            previous_.push_back(e + 1);
        }
        const int base = base_of(rank);
        if (base < steps_)
            unlink(base);
        walk(0, head_, 0);
        for (Block &block : found_)
            block = block == steps_ ? static_cast<Block>(base) : block - steps_;
    }

    std::vector<Block> found() && { return std::move(found_); }

private:
    Position skip(int k) const { return skips_[static_cast<std::size_t>(k)]; }

    // q for the root.
    int base_of(Position rank) const {
        for (int k = steps_ - 1; k >= 0; --k) {
            if (skip(k) == rank)
                return k;
            if (skip(k) < rank)
                rank -= skip(k);
        }
        return steps_;
    }

    int &next(int e) { return next_[static_cast<std::size_t>(e)]; }
    int &previous(int e) { return previous_[static_cast<std::size_t>(e)]; }

    void unlink(int e) {
        if (e == head_)
            head_ = next(e);
        if (next(e) >= 0)
            previous(next(e)) = previous(e);
        if (previous(e) <= steps_)
            next(previous(e)) = next(e);
    }

    // For k = 0, 1, ...: a rank that has its base, e, in time to pass it on over skip k.  Each base
    // is used once.
    int walk(Position at, int e, int k) {
        while (e >= 0) {
            const Position reached = at + skip(e);
            if (k < steps_ && reached <= wanted_ - skip(k) && reached < bound_) {
                if (reached <= wanted_ - skip(k + 1))
                    k = walk(reached, e, k);
                if (k >= steps_ || at > wanted_ - skip(k + 1))
                    return k;
                bound_ = reached;
                found_[static_cast<std::size_t>(k++)] = e;
                unlink(e);
            }
            e = next(e); // elements that were unlinked, e among them, still point to it
        }
        return k;
    }

    const std::vector<Position> &skips_;
    int steps_, head_;
    Position wanted_, bound_;
    std::vector<Block> found_;
    std::vector<int> next_, previous_; // links of the remaining skips, in descending order
};

} // namespace

BlockRounds::BlockRounds(Position ranks, Block blocks) : ranks_(ranks), blocks_(blocks) {
    skips_.push_back(ranks);
    for (const Round &round : halving_rounds(ranks))
        skips_.push_back(round.skip);
    if (ranks == 1)
        skips_.push_back(1);
    std::ranges::reverse(skips_);
}

std::vector<Block> BlockRounds::table(Position rank) const {
    if (ranks_ == 1)
        return {-1};
    return Search(skips_, rank).found();
}

std::vector<Block> BlockRounds::received(Position rank) const {
    const std::vector<Block> blocks = table(rank);
    std::vector<Block> found;
    bool complete = false;
    for (Block round = 0; round < rounds(); ++round) {
        const Block passed = (first() + round) / steps() * steps() - first();
        const Block block = blocks[phase(round)] + passed;
        const bool last = block >= blocks_ - 1;
        found.push_back(block < 0 || (last && complete) ? kNone : std::min(block, blocks_ - 1));
        complete = complete || last;
    }
    return found;
}

std::vector<Block> BlockRounds::sent(Position rank) const {
    std::vector<std::vector<Block>> theirs; // received by the ranks that it sends to, by k
    for (Block k = 0; k < steps(); ++k)
        theirs.push_back(received(shifted(rank, skips_[static_cast<std::size_t>(k)], ranks_)));
    std::vector<Block> found;
    for (Block round = 0; round < rounds(); ++round)
        found.push_back(theirs[phase(round)][static_cast<std::size_t>(round)]);
    return found;
}

} // namespace stretto::algorithms
