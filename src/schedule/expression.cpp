// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/expression.hpp"

#include <algorithm>
#include <string>

#include "base/mix.hpp"
#include "base/status.hpp"

namespace stretto::schedule {

namespace {

constexpr std::size_t kMostWords = 1u << 29; // the sets of positions of all trees

enum Seed : std::uint64_t { leaf_seed = 1, pair_seed = 2, unordered_seed = 3 };

std::uint64_t key(std::int32_t high, std::int32_t low) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 |
           static_cast<std::uint32_t>(low);
}

} // namespace

Expressions::Expressions(Position ranks) : words_((static_cast<std::size_t>(ranks) + 63) / 64) {}

Expressions::Node Expressions::leaf(Atom atom) {
    const auto node = static_cast<Node>(trees_.size());
    if (const auto [known, fresh] = leaves_.try_emplace(key(atom.from, atom.block), node); !fresh)
        return known;
    const std::uint64_t hash = mix(leaf_seed, key(atom.from, atom.block));
    add({hash, atom.block, atom.from, atom.from, true, node}, {});
    const auto from = static_cast<std::size_t>(atom.from);
    contributors_[static_cast<std::size_t>(node) * words_ + from / 64] |= std::uint64_t{1}
                                                                          << (from % 64);
    return node;
}

Expressions::Node Expressions::pair(Node left, Node right) {
    if (const Node *const known = pairs_.find(key(left, right)); known != nullptr)
        return *known;
    check_disjoint({left, right});
    const Tree a = at(left), b = at(right); // copies: adding trees moves them
    const auto [first, second] = std::minmax(a.commuted, b.commuted);
    const bool is_commuted = first == left && second == right;
    const Node commuted = is_commuted ? static_cast<Node>(trees_.size()) : pair(first, second);
    const bool ascending = a.ascending && b.ascending && a.last < b.first;
    const Node node =
        add({mix(mix(pair_seed, a.hash), b.hash), a.block, a.first, b.last, ascending, commuted},
            {left, right});
    pairs_.try_emplace(key(left, right), node);
    return node;
}

Expressions::Node Expressions::unordered(Position position, std::int32_t group, Block block,
                                         std::vector<Node> operands) {
    std::sort(operands.begin(), operands.end());
    std::vector<std::int32_t> whole = {position, group, block};
    whole.insert(whole.end(), operands.begin(), operands.end());
    if (const auto found = unordered_.find(whole); found != unordered_.end())
        return found->second;
    check_disjoint(operands);

    std::vector<Node> commuted;
    std::vector<std::uint64_t> hashes;
    for (const Node operand : operands) {
        commuted.push_back(at(operand).commuted);
        hashes.push_back(at(operand).hash);
    }
    std::sort(commuted.begin(), commuted.end());
    std::sort(hashes.begin(), hashes.end());
    std::uint64_t hash =
        mix(mix(unordered_seed, key(position, group)), static_cast<std::uint64_t>(block));
    for (const std::uint64_t operand : hashes)
        hash = mix(hash, operand);
    const Node representative = commuted == operands ? static_cast<Node>(trees_.size())
                                                     : unordered(position, group, block, commuted);
    const Node node =
        add({hash, at(operands.front()).block, 0, 0, false, representative}, operands);
    unordered_.emplace(std::move(whole), node);
    return node;
}

Position Expressions::first_missing(Node node, const std::vector<Position> &positions) const {
    const std::uint64_t *set = contributors(node);
    for (const Position position : positions) {
        const auto bit = static_cast<std::size_t>(position);
        if ((set[bit / 64] >> (bit % 64) & 1) == 0)
            return position;
    }
    return -1;
}

Expressions::Node Expressions::add(const Tree &tree, const std::vector<Node> &operands) {
    const auto node = static_cast<Node>(trees_.size());
    if (contributors_.size() > kMostWords)
        throw Error(Status::argument, "the proof needs more than " +
                                          std::to_string(kMostWords * 8 >> 30) +
                                          " GiB; prove it for fewer ranks or blocks");
    trees_.push_back(tree);
    contributors_.resize(contributors_.size() + words_, 0);
    for (const Node operand : operands)
        for (std::size_t w = 0; w < words_; ++w)
            contributors_[static_cast<std::size_t>(node) * words_ + w] |= contributors(operand)[w];
    return node;
}

void Expressions::check_disjoint(const std::vector<Node> &operands) const {
    std::vector<std::uint64_t> seen(words_, 0);
    for (const Node operand : operands) {
        if (at(operand).block != at(operands.front()).block)
            throw Error(Status::argument,
                        "input blocks " + std::to_string(at(operands.front()).block) + " and " +
                            std::to_string(at(operand).block) + " would be mixed");
        for (std::size_t w = 0; w < words_; ++w) {
            const std::uint64_t set = contributors(operand)[w];
            if (const std::uint64_t twice = seen[w] & set; twice != 0)
                throw Error(
                    Status::argument,
                    "the contribution of position " +
                        std::to_string(w * 64 + static_cast<std::size_t>(std::countr_zero(twice))) +
                        " to input block " + std::to_string(at(operand).block) +
                        " would count twice");
            seen[w] |= set;
        }
    }
}

} // namespace stretto::schedule
