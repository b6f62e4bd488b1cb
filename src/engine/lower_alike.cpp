// SPDX-License-Identifier: BSD-3-Clause
// Lowering if one position stands for all (schedule.hpp, `alike`): its own program is enough.
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
#include <numeric>
#include <utility>

#include "engine/alike.hpp"
#include "engine/pass_builder.hpp"
#include "engine/slices.hpp"
#include "engine/tiling.hpp"
#include "schedule/access.hpp"

namespace stretto::engine {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;

namespace {

// Short blocks that are neighbours are sent together.  But an op with the vector's first and last
// block has no neighbours where the same op of other positions has.
bool some_travel_together(const std::vector<Op> &ops, const Blocks &blocks, std::size_t slice) {
    return 2 * blocks.least() <= slice &&
           std::any_of(ops.begin(), ops.end(), [](const Op &op) { return op.blocks.size() > 1; });
}

// Unless the operation commutes, it depends on the operand's side, and so on the position, which
// receives are chained.
bool chains_by_side(const std::vector<Op> &ops, bool commutes) {
    return !commutes && std::ranges::any_of(ops, schedule::reduces_in_place);
}

// Blocks by their number as seen from a position, if there are such numbers.
void sort_by(const schedule::Schedule &schedule, Position position,
             std::vector<schedule::Block> &blocks) {
    if (schedule.relative && blocks.size() > 1)
        std::ranges::sort(
            blocks, {}, [&](schedule::Block block) { return schedule.relative(position, block); });
}

// For each receive of the program, the matching send, which is the same op at other positions.
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

std::vector<Op> path_alike(const schedule::Schedule &schedule, Position position) {
    std::vector<Op> ops = schedule::path(schedule.program(position));
    for (Op &op : ops)
        sort_by(schedule, op.kind == OpKind::recv ? op.peer : position, op.blocks);
    return ops;
}

std::vector<schedule::Block> blocks_alike(const schedule::Schedule &schedule, Position position) {
    std::vector<schedule::Block> blocks(static_cast<std::size_t>(schedule.blocks()));
    std::iota(blocks.begin(), blocks.end(), 0);
    sort_by(schedule, position, blocks);
    return blocks;
}

std::optional<Lowered> lower_alike(const schedule::Schedule &schedule, Position position,
                                   const LowerOptions &options) {
    if (!schedule.symmetry || schedule.token)
        return std::nullopt;
    const Blocks blocks(schedule.partition, options.count, options.element, options.piece);
    if (!one_for_all(schedule, blocks, options.element))
        return std::nullopt;
    const Program program = schedule.program(position);
    const std::vector<Op> ops = path_alike(schedule, position);
    if (some_travel_together(ops, blocks, options.slice) || chains_by_side(ops, options.commutes))
        return std::nullopt;

    Lowered lowered;
    lowered.symmetry = schedule.symmetry;
    lowered.representative = position;
    lowered.passes.resize(1);
    lowered.publishes.resize(1);
    Memory memory(schedule, position, ops, blocks, options.output_everywhere);
    PassBuilder builder(ops, program, options, lowered.passes[0], lowered.publishes[0]);
    const auto slices_of = [&](const std::vector<Touch> &touch) {
        return cut_alike(touch, blocks, options.slice, options.element);
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
    for (const Slice &slice :
         slices_of(local_copies(schedule, position, blocks_alike(schedule, position), memory)))
        builder.local(static_cast<std::int32_t>(ops.size()), slice, true);
    lowered.scratch_bytes = {builder.finish()};

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
