// SPDX-License-Identifier: BSD-3-Clause
// The contract of a schedule: what each position holds at the start and must hold at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schedule/partition.hpp"

namespace stretto::schedule {

enum class Collective : std::uint8_t {
    allreduce,
    reduce,
    broadcast,
    reduce_scatter,
    allgather,
    barrier,
    gather,
    scatter,
    alltoall,
    custom,
};

std::string_view name(Collective collective);
std::optional<Collective> collective_named(std::string_view name);

// Whether an operation combines the contributions of ranks.  (No caller sees that of a barrier.)
bool reduces(Collective collective);
// Whether one rank, the root, gives or gets everything.
bool rooted(Collective collective);
// Whether blocks have owners: a rank begins or ends with its own part of the vector.
bool in_parts(Collective collective);

// A contribution: what position `from` held in its input block `block`.
struct Atom {
    Position from;
    Block block;
    bool operator==(const Atom &) const = default;
};

// What a block must hold at the end: the reduction of all contributions to input block `block`,
// each exactly once, or, if `from` is set, the contribution of that position alone.
struct Goal {
    Block block;
    std::optional<Position> from;
    bool operator==(const Goal &) const = default;
};

// Held per (position, block) of the work slot; nothing means undefined.
//
//   allreduce       all start with own contributions, all end with all reductions
//   reduce          the same; only the root ends with something
//   broadcast       only the root starts with something
//   reduce_scatter  position p ends with the blocks it owns, reduced
//   allgather       position p starts with the blocks it owns
//   barrier         as allreduce (of a vector that no caller sees)
//   gather, scatter owned blocks to and from the root
//   alltoall        block b of position p ends as block p of position b (blocks = ranks x k:
//                   the k pieces keep their places); sizes agree under equal(ranks).refine(k)
//   custom          tables
//
// The blocks a position owns are consecutive: B = P*k blocks, position p owns p*k ... p*k + k - 1.
class Contract {
public:
    Contract() = default;
    Contract(Collective collective, Position ranks, Block blocks, Position root = 0);
    static Contract custom(Position ranks, Block blocks, std::vector<std::optional<Atom>> start,
                           std::vector<std::optional<Goal>> end); // row p, column b

    std::optional<Atom> start(Position position, Block block) const;
    std::optional<Goal> end(Position position, Block block) const;

    Collective collective() const { return collective_; }
    Position ranks() const { return ranks_; }
    Block blocks() const { return blocks_; }
    Position root() const { return root_; }
    Position owner(Block block) const;
    bool operator==(const Contract &) const = default;

private:
    Collective collective_ = Collective::allreduce;
    Position ranks_ = 1;
    Block blocks_ = 1;
    Position root_ = 0;
    std::vector<std::optional<Atom>> start_; // custom only
    std::vector<std::optional<Goal>> end_;   // custom only
};

} // namespace stretto::schedule
