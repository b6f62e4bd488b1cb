// SPDX-License-Identifier: BSD-3-Clause
// Patterns of messages that one receiver gets, from the kindest to those of applications.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matching/sequence.hpp"

namespace stretto::matching {

struct Pattern {
    std::string_view name;
    std::string_view meaning;
    void (*write)(Writer &);
};

std::span<const Pattern> patterns();

// Throws Error(argument): a name that does not exist, peers outside 1 to 4096, depth outside 1 to
// 64.
Sequence make_sequence(const std::string &pattern, const Shape &shape);

// neighbours.cpp.
// The peers that the middle rank of a block of ranks has around it, in x, y and z.  The block is
// nearly a cube, of at most `peers` + 1 ranks: 26 neighbours from 26 peers on, fewer with fewer.
std::vector<int> block_neighbours(int peers);
void write_hpcg(Writer &writer);
void write_miniamr(Writer &writer);

} // namespace stretto::matching
