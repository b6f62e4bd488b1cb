// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/contract.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/status.hpp"

namespace stretto::schedule {

namespace {

constexpr std::array<std::string_view, 10> kNames = {
    "allreduce", "reduce", "broadcast", "reduce_scatter", "allgather",
    "barrier",   "gather", "scatter",   "alltoall",       "custom"};

void refuse_contract(const std::string &what) {
    throw Error(Status::argument, "contract: " + what);
}

void check_extent(Position ranks, Block blocks) {
    if (ranks < 1 || blocks < 1)
        refuse_contract(std::to_string(ranks) + " ranks and " + std::to_string(blocks) +
                        " blocks; at least 1 of each is needed");
}

} // namespace

std::string_view name(Collective collective) {
    return kNames.at(static_cast<std::size_t>(collective));
}

std::optional<Collective> collective_named(std::string_view name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end())
        return std::nullopt;
    return static_cast<Collective>(found - kNames.begin());
}

bool reduces(Collective collective) {
    return collective == Collective::allreduce || collective == Collective::reduce ||
           collective == Collective::reduce_scatter;
}

bool rooted(Collective collective) {
    return collective == Collective::reduce || collective == Collective::broadcast ||
           collective == Collective::gather || collective == Collective::scatter;
}

bool in_parts(Collective collective) {
    switch (collective) {
    case Collective::reduce_scatter:
    case Collective::allgather:
    case Collective::gather:
    case Collective::scatter:
    case Collective::alltoall: return true;
    default: return false;
    }
}

Contract::Contract(Collective collective, Position ranks, Block blocks, Position root)
    : collective_(collective), ranks_(ranks), blocks_(blocks), root_(root) {
    check_extent(ranks, blocks);
    if (collective == Collective::custom)
        refuse_contract("a custom contract needs its tables; use Contract::custom");
    if (root < 0 || root >= ranks)
        refuse_contract("root " + std::to_string(root) + " is not one of positions 0..." +
                        std::to_string(ranks - 1));
    if (in_parts(collective) && blocks % ranks != 0)
        refuse_contract(std::string(name(collective)) + " over " + std::to_string(ranks) +
                        " ranks needs a multiple of " + std::to_string(ranks) + " blocks, not " +
                        std::to_string(blocks));
}

Contract Contract::custom(Position ranks, Block blocks, std::vector<std::optional<Atom>> start,
                          std::vector<std::optional<Goal>> end) {
    check_extent(ranks, blocks);
    const std::size_t cells = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(blocks);
    if (start.size() != cells || end.size() != cells)
        refuse_contract("a custom table needs " + std::to_string(cells) +
                        " entries (ranks x blocks), not " + std::to_string(start.size()) + " and " +
                        std::to_string(end.size()));
    const auto check = [&](Position from, Block block) {
        if (from < 0 || from >= ranks || block < 0 || block >= blocks)
            refuse_contract("a custom table names position " + std::to_string(from) + ", block " +
                            std::to_string(block) + " of " + std::to_string(ranks) + " x " +
                            std::to_string(blocks));
    };
    for (const auto &atom : start)
        if (atom)
            check(atom->from, atom->block);
    for (const auto &goal : end)
        if (goal)
            check(goal->from.value_or(0), goal->block);

    Contract made;
    made.collective_ = Collective::custom;
    made.ranks_ = ranks;
    made.blocks_ = blocks;
    made.start_ = std::move(start);
    made.end_ = std::move(end);
    return made;
}

Position Contract::owner(Block block) const {
    if (blocks_ % ranks_ != 0)
        refuse_contract(std::to_string(blocks_) + " blocks have no owners among " +
                        std::to_string(ranks_) + " ranks");
    return block / (blocks_ / ranks_);
}

std::optional<Atom> Contract::start(Position position, Block block) const {
    const Atom own{position, block};
    switch (collective_) {
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::barrier:
    case Collective::alltoall: return own;
    case Collective::broadcast:
    case Collective::scatter: return position == root_ ? std::optional(own) : std::nullopt;
    case Collective::allgather:
    case Collective::gather: return position == owner(block) ? std::optional(own) : std::nullopt;
    case Collective::custom: break;
    }
    return start_[static_cast<std::size_t>(position) * static_cast<std::size_t>(blocks_) +
                  static_cast<std::size_t>(block)];
}

std::optional<Goal> Contract::end(Position position, Block block) const {
    const auto only = [](bool ends, Goal goal) {
        return ends ? std::optional(goal) : std::nullopt;
    };
    switch (collective_) {
    case Collective::allreduce:
    case Collective::barrier: return Goal{block, std::nullopt};
    case Collective::reduce: return only(position == root_, {block, std::nullopt});
    case Collective::reduce_scatter: return only(position == owner(block), {block, std::nullopt});
    case Collective::broadcast: return Goal{block, root_};
    case Collective::allgather: return Goal{block, owner(block)};
    case Collective::gather: return only(position == root_, {block, owner(block)});
    case Collective::scatter: return only(position == owner(block), {block, root_});
    case Collective::alltoall: {
        // 3 ranks, 6 blocks: block 4 (piece 0 from position 2) of position 1 was block 2 there.
        const Block pieces = blocks_ / ranks_;
        return Goal{position * pieces + block % pieces, owner(block)};
    }
    case Collective::custom: break;
    }
    return end_[static_cast<std::size_t>(position) * static_cast<std::size_t>(blocks_) +
                static_cast<std::size_t>(block)];
}

} // namespace stretto::schedule
