// SPDX-License-Identifier: BSD-3-Clause
// The phases that algorithms are composed of.  Each appends the ops of one position to its program.
// A phase is described at the algorithm that consists of it alone (reduce/linear.cpp, ...).
//
// Phases of one program that send along the same edges use different lanes.
#pragma once

#include "algorithms/assemble.hpp"

namespace stretto::algorithms {

// How the n operands of a fold are bracketed, always in the order of positions.
enum class Tree {
    chain,     // ((0 1) 2) 3 ...: one n-ary pass
    canonical, // the tree of reproducible mode: the same bits as in other algorithms with this tree
};

// Receives `block` from all positions and folds all into `work` (collect.cpp).
void append_collect(Ops &ops, Position position, Position ranks, Block block, Tree tree,
                    Lane lane = 0);

// Block 0, from all positions to the root, one by one (reduce/linear.cpp), or from the root
// (broadcast/linear.cpp).
void append_linear_reduce(Ops &ops, Position position, Position ranks, Position root,
                          Lane lane = 0);
void append_linear_broadcast(Ops &ops, Position position, Position ranks, Position root,
                             Lane lane = 0);

// Block 0 along the tree of tree.hpp (reduce/binomial.cpp, broadcast/binomial.cpp).
void append_binomial_reduce(Ops &ops, Position position, Position ranks, Position root,
                            Lane lane = 0);
void append_binomial_broadcast(Ops &ops, Position position, Position ranks, Position root,
                               Lane lane = 0);

// As many blocks as ranks, block b owned by position b: to the root, one by one
// (gather/linear.cpp), or from it, along the tree of tree.hpp (scatter/binomial.cpp).
void append_linear_gather(Ops &ops, Position position, Position ranks, Position root,
                          Lane lane = 0);
void append_binomial_scatter(Ops &ops, Position position, Position ranks, Position root);

// The parameter of all chains.  Under the Hockney model sqrt((P - 2) beta m / alpha) segments are
// the best (Proficz 2018).
inline constexpr Parameter kChainSegments = {.name = "segments",
                                             .fallback = 8,
                                             .least = 1,
                                             .most = 4096,
                                             .meaning =
                                                 "pieces of the vector that follow one another"};

// One segment along a chain (reduce/chain.cpp, broadcast/chain.cpp).
void append_chain_reduce(Ops &ops, Position position, Position ranks, Position root, Block segment,
                         Lane lane = 0);
void append_chain_broadcast(Ops &ops, Position position, Position ranks, Position root,
                            Block segment, Lane lane = 0);
// One of the two alone, for ranks that arrive at different times.
std::vector<Values> chain_for_arrivals(const Lateness &expected);

// As many blocks as ranks, block b owned by position b (reduce_scatter/direct.cpp,
// allgather/direct.cpp).
void append_direct_reduce_scatter(Ops &ops, Position position, Position ranks, Tree tree,
                                  Lane lane = 0);
void append_direct_allgather(Ops &ops, Position position, Position ranks, Lane lane = 0);

// ranks x segments blocks, chunk c = blocks c * segments ... owned by position c
// (reduce_scatter/ring.cpp, allgather/ring.cpp).
void append_ring_reduce_scatter(Ops &ops, Position position, Position ranks, Block segments = 1,
                                Lane lane = 0);
// A position that has the chunk already, as `holds` says, is not sent it.
using Holds = std::function<bool(Position position, Position chunk)>;
void append_ring_allgather(Ops &ops, Position position, Position ranks, Block segments = 1,
                           Lane lane = 0, const Holds &holds = {});

} // namespace stretto::algorithms
