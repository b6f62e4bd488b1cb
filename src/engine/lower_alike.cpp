// SPDX-License-Identifier: BSD-3-Clause
// Lowering where one position stands for all (schedule.hpp, `alike`): its own program says all.
//
//   ring of 5, at position 2      op 0  sends to 3            op 1  receives from 1
//   so position 1 has op 0 too:   sends to 2, which is what op 1 takes
//
// What a position receives from a peer that is d behind it, its peer d ahead of it receives of its
// own sends, by the op with the same number.  So the passes of one position name all publishes and
// all readers.
//
// Blocks may differ by one element.  Which are the longer ones depends on the position, so every
// slice has the room in a stream that the longest would need.
#include <algorithm>
#include <map>
#include <utility>

#include "engine/pass_builder.hpp"
#include "engine/slices.hpp"

namespace stretto::engine {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;

namespace {

// Nothing if some blocks differ by more than an element, or are empty.
std::optional<AlikeBlocks> alike_blocks(const std::vector<std::size_t> &bounds,
                                        std::size_t element) {
    AlikeBlocks blocks{bounds[1] - bounds[0], 0};
    for (std::size_t b = 1; b < bounds.size(); ++b) {
        blocks.least = std::min(blocks.least, bounds[b] - bounds[b - 1]);
        blocks.longest = std::max(blocks.longest, bounds[b] - bounds[b - 1]);
    }
    if (blocks.least == 0 || blocks.longest - blocks.least > element)
        return std::nullopt;
    return blocks;
}

// Short blocks that are neighbours travel together: but who has the vector's first and last block
// in an op has no neighbours where others have.
bool some_travel_together(const std::vector<Op> &ops, const AlikeBlocks &blocks,
                          std::size_t slice) {
    return 2 * blocks.least <= slice &&
           std::any_of(ops.begin(), ops.end(), [](const Op &op) { return op.blocks.size() > 1; });
}

// For each receive of the program the send by which others send it the like.
std::vector<std::int32_t> sends_alike(const std::vector<Op> &ops, Position position,
                                      const schedule::Symmetry &symmetry) {
    using Channel = std::pair<Position, schedule::Lane>; // how far ahead the receiver is
    std::map<Channel, std::vector<std::int32_t>> sends;
    std::map<Channel, std::size_t> taken;
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (ops[i].kind == OpKind::send)
            sends[{symmetry.difference(ops[i].peer, position), ops[i].lane}].push_back(
                static_cast<std::int32_t>(i));
    std::vector<std::int32_t> found(ops.size(), -1);
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (ops[i].kind == OpKind::recv) {
            const Channel channel{symmetry.difference(position, ops[i].peer), ops[i].lane};
            found[i] = sends.at(channel).at(taken[channel]++);
        }
    return found;
}

} // namespace

std::optional<Lowered> lower_alike(const schedule::Schedule &schedule, Position position,
                                   const LowerOptions &options) {
    if (!schedule.symmetry || !schedule.alike || schedule.token)
        return std::nullopt;
    const std::vector<std::size_t> bounds =
        byte_bounds(schedule.partition, options.count, options.element);
    const std::optional<AlikeBlocks> blocks = alike_blocks(bounds, options.element);
    const Program program = schedule.program(position);
    const std::vector<Op> ops = schedule::path(program);
    if (!blocks || some_travel_together(ops, *blocks, options.slice))
        return std::nullopt;

    Lowered lowered;
    lowered.symmetry = schedule.symmetry;
    lowered.standing = position;
    lowered.passes.resize(1);
    lowered.publishes.resize(1);
    Memory memory(schedule, position, ops, bounds, options.output_everywhere);
    PassBuilder builder(ops, program, options.fuse, lowered.passes[0], lowered.publishes[0]);
    const auto slices_of = [&](const std::vector<Touch> &touch) {
        return cut_alike(touch, *blocks, options.slice, options.element);
    };
    // A token is a slice of a receive, numbered over all receives.
    std::vector<std::int32_t> op_of, first_of(ops.size(), -1);    // by token; by op
    std::vector<std::vector<std::int32_t>> publishes(ops.size()); // of sends, by slice
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const auto op = static_cast<std::int32_t>(i);
        first_of[i] = static_cast<std::int32_t>(op_of.size());
        for (const Slice &slice : slices_of(touches(ops[i], memory)))
            if (ops[i].kind == OpKind::send) {
                publishes[i].push_back(builder.send(op, slice));
            } else if (ops[i].kind == OpKind::recv) {
                builder.recv(op, slice, ops[i].peer, static_cast<std::int32_t>(op_of.size()));
                op_of.push_back(op);
            } else {
                builder.local(op, slice);
            }
    }
    for (const Slice &slice : slices_of(fills(schedule, position, memory)))
        builder.local(static_cast<std::int32_t>(ops.size()), slice, true);
    builder.finish();
    lowered.scratch_bytes = {memory.scratch_bytes()};

    const std::vector<std::int32_t> alike = sends_alike(ops, position, *schedule.symmetry);
    for (std::size_t i = 0; i < lowered.passes[0].size(); ++i) {
        Pass &pass = lowered.passes[0][i];
        if (pass.gone)
            continue;
        for (Operand &operand : pass.operands) {
            if (operand.owner < 0)
                continue;
            const auto recv =
                static_cast<std::size_t>(op_of[static_cast<std::size_t>(operand.publish)]);
            const auto slice = static_cast<std::size_t>(operand.publish - first_of[recv]);
            const std::int32_t send = alike[recv];
            operand.publish = publishes[static_cast<std::size_t>(send)].at(slice);
            const Position ahead = schedule.symmetry->difference(position, operand.owner);
            lowered.publishes[0][static_cast<std::size_t>(operand.publish)].readers.push_back(
                {schedule.symmetry->sum(position, ahead), static_cast<std::int32_t>(i), send,
                 send});
        }
    }
    return lowered;
}

} // namespace stretto::engine
