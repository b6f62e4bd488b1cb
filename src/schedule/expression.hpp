// SPDX-License-Identifier: BSD-3-Clause
// Expression trees: the value of a block as the expression that computed it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/number_map.hpp"
#include "schedule/contract.hpp"

namespace stretto::schedule {

// All trees of a proof, each kept once, so that equal trees have equal numbers.
//
//   leaf        what a position contributed to an input block
//   pair        left op right
//   unordered   operands folded in the order of their arrival, which may differ from run to run and
//               is the same for two blocks only if one is a copy of the other: so the place of
//               the fold is part of the tree
//
// With every tree stands the set of positions that contributed to it.
class Expressions {
public:
    using Node = std::int32_t;

    explicit Expressions(Position ranks);

    Node leaf(Atom atom);
    // Throws Error(argument) if a contribution would count twice or input blocks would be mixed.
    Node pair(Node left, Node right);
    Node unordered(Position position, std::int32_t group, Block block, std::vector<Node> operands);

    // The input block that the leaves belong to.
    Block block(Node node) const { return at(node).block; }
    // Whether the leaves are in ascending order of positions, in every run.
    bool ascending(Node node) const { return at(node).ascending; }
    // A number that is equal for two trees if they differ only by exchanging the two sides of
    // pairs.  Such trees give the same bits for every operation that commutes.
    Node commuted(Node node) const { return at(node).commuted; }
    // A hash that depends on the tree alone.
    std::uint64_t hash(Node node) const { return at(node).hash; }
    // The first of these positions that the tree does not contain, or -1.
    Position first_missing(Node node, const std::vector<Position> &positions) const;

private:
    struct Tree {
        std::uint64_t hash;
        Block block;
        Position first, last; // the outermost leaves; meaningful if ascending
        bool ascending;
        Node commuted;
    };

    const Tree &at(Node node) const { return trees_[static_cast<std::size_t>(node)]; }
    const std::uint64_t *contributors(Node node) const {
        return &contributors_[static_cast<std::size_t>(node) * words_];
    }
    // A new tree whose contributors are those of all operands.
    Node add(const Tree &tree, const std::vector<Node> &operands);
    void check_disjoint(const std::vector<Node> &operands) const;

    std::size_t words_; // per set of positions
    std::vector<Tree> trees_;
    std::vector<std::uint64_t> contributors_; // words_ per tree
    NumberMap<Node> leaves_, pairs_;
    std::map<std::vector<std::int32_t>, Node> unordered_;
};

} // namespace stretto::schedule
