// SPDX-License-Identifier: BSD-3-Clause
#include "engine/whole_call.hpp"

#include <algorithm>

namespace stretto::engine {

using schedule::Block;
using schedule::Contract;
using schedule::Goal;
using schedule::InPlace;
using schedule::Position;

// The ranks of which the contributions make up what a block must hold.
static std::vector<int> operands(const Contract &contract, const Goal &goal) {
    if (goal.from)
        return {*goal.from};
    std::vector<int> ranks;
    for (Position rank = 0; rank < contract.ranks(); ++rank)
        if (contract.start(rank, goal.block))
            ranks.push_back(rank);
    return ranks;
}

WholeCall::WholeCall(const Contract &contract, std::span<const std::uint64_t> bounds,
                     std::optional<Dtype> averaged)
    : ends_(static_cast<std::size_t>(contract.ranks())), divisor_(contract.ranks()) {
    if (averaged)
        then_ = reduce::ElementMap{reduce::Mapping::divide, *averaged, &divisor_};
    const auto begin = [&](Block block) { return bounds[static_cast<std::size_t>(block)]; };
    for (Block block = 0; block < contract.blocks(); ++block) {
        const std::uint64_t bytes = begin(block + 1) - begin(block);
        if (bytes == 0)
            continue;
        std::vector<Goal> goals; // of the portions of this block, in their order
        const std::size_t before = portions_.size();
        for (Position rank = 0; rank < contract.ranks(); ++rank) {
            const std::optional<Goal> goal = contract.end(rank, block);
            if (!goal)
                continue;
            const auto known = std::ranges::find(goals, *goal);
            const std::size_t which = before + static_cast<std::size_t>(known - goals.begin());
            if (known == goals.end()) {
                goals.push_back(*goal);
                portions_.push_back(
                    {begin(goal->block), begin(block), bytes, operands(contract, *goal), {}});
            }
            portions_[which].outs.push_back(rank);
        }
    }
    for (const Portion &portion : portions_) {
        most_buffers_ = std::max(most_buffers_, portion.ins.size() + portion.outs.size());
        if (portion.ins.size() > 1)
            bytes_reduced_ += portion.bytes * portion.ins.size();
        for (const int rank : portion.ins)
            ends_[static_cast<std::size_t>(rank)].in = portion.from;
        for (const int rank : portion.outs)
            ends_[static_cast<std::size_t>(rank)].out = portion.to;
    }
}

// Parts that are moved to the beginning lie over the first one, which only the first portion reads,
// if all are equal.
bool WholeCall::may_be_in_place(InPlace how) const {
    const auto all = [&](const auto &each) { return std::ranges::all_of(portions_, each); };
    switch (how) {
    case InPlace::over: return all([](const Portion &each) { return each.from == each.to; });
    case InPlace::moved:
        return all([&](const Portion &each) { return each.bytes == portions_[0].bytes; });
    default: return true;
    }
}

} // namespace stretto::engine
