// SPDX-License-Identifier: BSD-3-Clause
#include "engine/lower.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/status.hpp"
#include "engine/pass_builder.hpp"
#include "engine/slices.hpp"
#include "schedule/access.hpp"

namespace stretto::engine {

using schedule::is_message;
using schedule::Op;
using schedule::OpKind;
using schedule::Program;

namespace {

// All blocks of the op are empty, so it takes no pass.  With a short vector and many ranks most
// messages are empty, at both ends alike, since their blocks have the same sizes.
bool is_empty(const Op &op, const Blocks &blocks) {
    return std::ranges::all_of(op.blocks,
                               [&](schedule::Block block) { return blocks.length(block) == 0; });
}

// An op that is one end of a message.
struct End {
    Position from, to;
    schedule::Lane lane;
    std::int32_t op;
};

// The two ends of each message, in the order of channels: the k-th send of a channel meets its k-th
// receive.
void pair_up(std::vector<End> &sends, std::vector<End> &recvs) {
    const auto by_channel = [](const End &a, const End &b) {
        return std::tie(a.from, a.to, a.lane, a.op) < std::tie(b.from, b.to, b.lane, b.op);
    };
    std::ranges::sort(sends, by_channel);
    std::ranges::sort(recvs, by_channel);
}

// For each message of a position with several blocks: which of them can be sent with the block
// before them as far as the memory of this position is concerned.  Empty if there is no such
// message.
std::vector<Joins> joins_of(const schedule::Schedule &schedule, Position position,
                            const std::vector<Op> &ops, const Blocks &blocks,
                            bool output_everywhere) {
    const auto has_several = [](const Op &op) { return is_message(op) && op.blocks.size() > 1; };
    if (std::ranges::none_of(ops, has_several))
        return {};
    std::vector<Joins> found(ops.size());
    Memory memory(schedule, position, ops, blocks, output_everywhere);
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (!is_empty(ops[i], blocks)) {
            const std::vector<Touch> touch = touches(ops[i], memory);
            if (has_several(ops[i]))
                found[i] = joins(touch);
        }
    return found;
}

// What both ends of a message have in common.
struct Message {
    Joins joins;
    std::int32_t token; // of its first slice
};

} // namespace

Lowered lower(const schedule::Schedule &schedule, const LowerOptions &options) {
    if (schedule.token)
        throw Error(Status::unsupported, "schedule " + schedule.name +
                                             " chooses by a token, which this engine does not");
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    const Blocks blocks(schedule.partition, options.count, options.element, options.piece);

    // 1. The programs, and the pairs of ops that are the two ends of a message.
    std::vector<Program> programs(ranks); // without suffixes
    std::vector<End> sends, recvs;
    std::vector<std::vector<Joins>> own_joins(ranks);         // by position, op
    std::vector<std::vector<std::int32_t>> message_of(ranks); // the same; -1: a local op
    for (std::size_t p = 0; p < ranks; ++p) {
        const auto position = static_cast<Position>(p);
        programs[p] = schedule.program(position);
        const std::vector<Op> &ops = programs[p].ops;
        message_of[p].assign(ops.size(), -1);
        own_joins[p] = joins_of(schedule, position, ops, blocks, options.output_everywhere);
        for (std::size_t i = 0; i < ops.size(); ++i) {
            const Op &op = ops[i];
            if (!is_message(op) || is_empty(op, blocks))
                continue;
            if (op.kind == OpKind::send)
                sends.push_back({position, op.peer, op.lane, static_cast<std::int32_t>(i)});
            else
                recvs.push_back({op.peer, position, op.lane, static_cast<std::int32_t>(i)});
        }
    }
    pair_up(sends, recvs);

    // 2. Both ends of a message are cut alike; message tokens are numbered over all slices.
    std::vector<Message> messages(sends.size());
    std::vector<std::int32_t> message; // by token: the first token of its message
    std::vector<std::int32_t> sent_by; // by token: the sender's op
    for (std::size_t k = 0; k < sends.size(); ++k) {
        const auto from = static_cast<std::size_t>(sends[k].from);
        const auto to = static_cast<std::size_t>(sends[k].to);
        const auto send = static_cast<std::size_t>(sends[k].op);
        const auto recv = static_cast<std::size_t>(recvs.at(k).op);
        message_of[from][send] = message_of[to][recv] = static_cast<std::int32_t>(k);
        const auto token = static_cast<std::int32_t>(message.size());
        messages[k].token = token;
        if (!own_joins[from].empty() && !own_joins[to].empty())
            messages[k].joins = both(own_joins[from][send], own_joins[to][recv]);
        message.resize(message.size() + count_slices(programs[from].ops[send].blocks, blocks,
                                                     messages[k].joins, options.slice,
                                                     options.element),
                       token);
        sent_by.resize(message.size(), sends[k].op);
    }
    sends = {};
    recvs = {};
    own_joins = {};

    // 3. The passes of each position.
    std::vector<schedule::Block> all(static_cast<std::size_t>(schedule.blocks()));
    std::iota(all.begin(), all.end(), 0);
    Lowered lowered;
    lowered.passes.resize(ranks);
    lowered.publishes.resize(ranks);
    lowered.scratch_bytes.resize(ranks);
    std::vector<std::int32_t> publish(message.size(), -1);
    for (std::size_t p = 0; p < ranks; ++p) {
        const auto position = static_cast<Position>(p);
        const std::vector<Op> &ops = programs[p].ops;
        Memory memory(schedule, position, ops, blocks, options.output_everywhere);
        PassBuilder builder(ops, programs[p], options, lowered.passes[p], lowered.publishes[p]);
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (is_empty(ops[i], blocks))
                continue;
            const auto op = static_cast<std::int32_t>(i);
            const std::vector<Touch> touch = touches(ops[i], memory);
            const std::int32_t of = message_of[p][i];
            const Message *const shared =
                of < 0 ? nullptr : &messages[static_cast<std::size_t>(of)];
            std::int32_t token = shared == nullptr ? -1 : shared->token;
            for (const Slice &slice : cut(touch, shared == nullptr ? joins(touch) : shared->joins,
                                          options.slice, options.element)) {
                if (ops[i].kind == OpKind::send)
                    publish[static_cast<std::size_t>(token++)] = builder.send(op, slice);
                else if (ops[i].kind == OpKind::recv)
                    builder.recv(op, slice, ops[i].peer, token++);
                else
                    builder.local(op, slice);
            }
        }
        const std::vector<Touch> rest = local_copies(schedule, position, all, memory);
        for (const Slice &slice : cut(rest, joins(rest), options.slice, options.element))
            builder.local(static_cast<std::int32_t>(ops.size()), slice, true);
        lowered.scratch_bytes[p] = builder.finish();
        programs[p] = {};
        message_of[p] = {};
    }

    // 4. Enters at each receiver the publish that holds its message, and at each publish its
    // readers.
    for (std::size_t p = 0; p < ranks; ++p)
        for (std::size_t i = 0; i < lowered.passes[p].size(); ++i) {
            Pass &pass = lowered.passes[p][i];
            if (pass.gone)
                continue;
            for (Operand &operand : pass.operands)
                if (operand.owner >= 0) {
                    const auto id = static_cast<std::size_t>(operand.publish);
                    operand.publish = publish[id];
                    lowered
                        .publishes[static_cast<std::size_t>(operand.owner)]
                                  [static_cast<std::size_t>(operand.publish)]
                        .readers.push_back({static_cast<Position>(p), static_cast<std::int32_t>(i),
                                            message[id], sent_by[id]});
                }
        }
    return lowered;
}

} // namespace stretto::engine
