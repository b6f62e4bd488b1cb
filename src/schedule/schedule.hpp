// SPDX-License-Identifier: BSD-3-Clause
// The language of algorithms.
//
// An algorithm is a pure function from a problem to a Schedule.  A schedule says, for each position
// 0 ... P-1, which blocks of a vector it sends, receives, reduces and copies.  It does not contain
// ranks (they are bound to positions when it is called), bytes (a Partition cuts the vector when a
// count is known), or the transport of messages.  The same schedule is proved (verify.hpp), counted
// (accounting.hpp), simulated (simulate/), and run (engine/).
//
//   Order.  Two ops of a position are ordered if and only if they touch the same block of the same
//   slot and one of them writes it.  There are no rounds and no barriers.  Windows and `after`
//   edges add order where an algorithm wants it.
//
//   Identity.  A message is (source, destination, lane, index among the ops of that channel and
//   lane in program order).  The blocks of its two sides pair by position in their lists; labels
//   may differ, sizes must not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedule/contract.hpp"
#include "schedule/partition.hpp"
#include "schedule/symmetry.hpp"
#include "schedule/topology.hpp"

namespace stretto::schedule {

using Slot = std::int32_t;
using Lane = std::int32_t;

// The slot that holds the contribution at the beginning and the result at the end; slots 1, 2, ...
// are scratch.
inline constexpr Slot kWork = 0;
inline constexpr Slot kNoSlot = -1;

enum class OpKind : std::uint8_t { send, recv, reduce, copy };

// The side of the incoming operand of a receive that reduces: incoming op slot, or slot op
// incoming.
enum class Side : std::uint8_t { left, right };

struct Op {
    OpKind kind = OpKind::send;
    Side side = Side::right;    // recv with reduction
    Position peer = -1;         // send: destination; recv: source
    Lane lane = 0;              // send, recv: leader index, phase, chunk
    Slot from = kNoSlot;        // send, copy: the slot read; recv: the slot reduced with, or none
    Slot into = kNoSlot;        // recv, reduce, copy: the slot written
    std::int32_t group = 0;     // recv: > 0: may reduce in order of arrival with its group
    std::vector<Block> blocks;  // send, copy: labels read; recv, reduce: labels written
    std::vector<Block> targets; // copy: labels written, when they differ from `blocks`
    std::vector<Slot> sources;  // reduce: folded first to last
    std::vector<std::int32_t> after; // earlier ops of the path (prefix, then suffix)

    bool operator==(const Op &) const = default;
};

Op send(Position to, std::vector<Block> blocks, Slot from = kWork, Lane lane = 0);
// A receive that replaces `into` by the incoming blocks.
Op recv(Position source, std::vector<Block> blocks, Slot into = kWork, Lane lane = 0);
// into = incoming op with (side left) or with op incoming (side right).
Op recv_reduce(Position source, std::vector<Block> blocks, Side side, Slot with = kWork,
               Slot into = kWork, Lane lane = 0);
// into = sources[0] op sources[1] op ..., block by block.
Op reduce(std::vector<Slot> sources, std::vector<Block> blocks, Slot into = kWork);
Op copy(std::vector<Block> blocks, Slot from, Slot into);

// Receive i starts only when receive i - recv is complete, and send j only when send j - send is
// complete, both counted over the whole program in its order.  0: no limit.
struct Window {
    std::int32_t recv = 0;
    std::int32_t send = 0;
    bool operator==(const Window &) const = default;
};

// What one position does: a common prefix and, if the schedule has a token, one of its suffixes.
struct Program {
    std::vector<Op> ops;
    std::vector<std::vector<Op>> suffixes; // empty, or one for each value of the token
    Window open;
    bool operator==(const Program &) const = default;
};

// A choice that is made while the schedule runs.
//
// Position `arbiter` issues the token when its first `issued_after` ops are complete.  From then
// on, every message of a position that knows the token carries it.  With arbiter -1, a counter in
// shared memory finds the last position to arrive, so all positions know the token when they reach
// the choice.
//
// If the suffixes of a position differ, it starts none of them before it knows the token.  Any
// message may be the one that carries the token, so a schedule with an arbiter also sends messages
// without bytes.
struct Token {
    std::int32_t values = 1;
    Position arbiter = -1;
    std::int32_t issued_after = 0;
    bool operator==(const Token &) const = default;
};

struct Schedule {
    std::string name; // with parameters: "segmented_ring(segments=4)"
    Position ranks = 1;
    Partition partition;
    Contract contract;
    std::optional<Token> token;
    std::optional<Symmetry> symmetry; // it looks the same from every position
    // Then it also looks the same in which ops wait for which.  Either blocks are at the same
    // places in the lists of all positions, or `relative` gives the number of each block as seen
    // from a position: by these numbers, the lists of all positions have the same blocks, in any
    // order.  `relative` is given only if messages have the same blocks at both ends and no op
    // copies to another block.
    bool alike = false;
    std::function<Block(Position, Block)> relative;
    Topology topology; // the hosts that it was made for; it is correct on all others too
    std::function<Program(Position)> program; // lazy and pure

    Block blocks() const { return partition.blocks(); }
};

// The ops of a program when the token has value `value` (ignored without suffixes).
std::vector<Op> path(const Program &program, std::int32_t value = 0);

} // namespace stretto::schedule
