// SPDX-License-Identifier: BSD-3-Clause
// The language: what an algorithm is.
//
// An algorithm is a pure function from a problem to a Schedule.  A schedule says, for each position
// 0 ... P-1, which blocks of a vector it sends, receives, reduces and copies.  It knows nothing of
// ranks (they are bound to positions when it is called), of bytes (a Partition cuts the vector when
// a count is known), or of how messages travel.  The same schedule is proved (verify.hpp), counted
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

// The slot that begins as the contribution and ends as the result; 1, 2, ... are scratch.
inline constexpr Slot kWork = 0;
inline constexpr Slot kNoSlot = -1;

enum class OpKind : std::uint8_t { send, recv, reduce, copy };

// Where the incoming operand of a reducing receive stands: incoming op slot, or slot op incoming.
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
// Replaces `into` by what arrives.
Op recv(Position source, std::vector<Block> blocks, Slot into = kWork, Lane lane = 0);
// into = incoming op with (side left) or with op incoming (side right).
Op recv_reduce(Position source, std::vector<Block> blocks, Side side, Slot with = kWork,
               Slot into = kWork, Lane lane = 0);
// into = sources[0] op sources[1] op ..., block by block.
Op reduce(std::vector<Slot> sources, std::vector<Block> blocks, Slot into = kWork);
Op copy(std::vector<Block> blocks, Slot from, Slot into);

// Receive i is granted only when receive i - recv is complete, send j issues only when send
// j - send is complete, both over the whole program in its order.  0: no limit.
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

// A choice that one arbiter makes while the schedule runs.
//
// `arbiter` issues the token when its first `issued_after` ops are complete; from there on every
// message that a position sends which already knows the token carries it.  With arbiter -1 the last
// position to arrive is elected by a counter all can see (shared memory), so all know the token
// when they reach the choice.
//
// A position whose suffixes differ starts none of them before it knows.  Since any message may be
// the one that tells it, a schedule with an arbiter sends messages without bytes too.
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
    // So it does in which ops wait for which too.  Either blocks are in the same places of the
    // lists of all positions, or `relative` says of each block which it is as seen from a position:
    // with such numbers the lists of all have the same blocks, in whatever order.  `relative` is
    // given only where messages have the same blocks at both ends and nothing is copied to another
    // block.
    bool alike = false;
    std::function<Block(Position, Block)> relative;
    Topology topology; // what it was made for, if for some hosts; it is right on any
    std::function<Program(Position)> program; // lazy and pure

    Block blocks() const { return partition.blocks(); }
};

// The ops of a program when the token has value `value` (ignored without suffixes).
std::vector<Op> path(const Program &program, std::int32_t value = 0);

} // namespace stretto::schedule
