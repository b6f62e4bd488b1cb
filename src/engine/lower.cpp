// SPDX-License-Identifier: BSD-3-Clause
#include "engine/lower.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/status.hpp"
#include "engine/pass_builder.hpp"
#include "engine/slices.hpp"

namespace stretto::engine {

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

} // namespace

Lowered lower(const schedule::Schedule &schedule, const LowerOptions &options) {
    if (schedule.token)
        throw Error(Status::unsupported, "schedule " + schedule.name +
                                             " chooses by a token, which this engine does not");
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    const Blocks blocks(schedule.partition, options.count, options.element, options.piece);

    // 1. The memory that each op touches, and the pairs of ops that are the two ends of a message.
    std::vector<std::vector<std::vector<Slice>>> slices_of(ranks); // by position, op
    std::vector<Program> programs(ranks);                          // without suffixes
    std::vector<std::vector<std::vector<Touch>>> touch(ranks);
    std::vector<Memory> memories;
    using Channel = std::tuple<Position, Position, schedule::Lane>;
    struct End {
        std::size_t position, op;
    };
    std::map<Channel, std::pair<std::vector<End>, std::vector<End>>> channels;
    for (std::size_t p = 0; p < ranks; ++p) {
        const auto position = static_cast<Position>(p);
        programs[p] = schedule.program(position);
        const std::vector<Op> &ops = programs[p].ops;
        memories.emplace_back(schedule, position, ops, blocks, options.output_everywhere);
        slices_of[p].resize(ops.size());
        touch[p].resize(ops.size());
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (is_empty(ops[i], blocks))
                continue;
            touch[p][i] = touches(ops[i], memories[p]);
            if (ops[i].kind == OpKind::send)
                channels[{position, ops[i].peer, ops[i].lane}].first.push_back({p, i});
            else if (ops[i].kind == OpKind::recv)
                channels[{ops[i].peer, position, ops[i].lane}].second.push_back({p, i});
            else
                cut(touch[p][i], nullptr, options.slice, options.element, slices_of[p][i], nullptr);
        }
    }

    // 2. Both ends of a message are cut alike; message tokens are numbered over all slices.
    std::vector<std::vector<std::int32_t>> token(ranks);
    for (std::size_t p = 0; p < ranks; ++p)
        token[p].assign(programs[p].ops.size(), -1);
    std::vector<std::int32_t> message; // by token: the first token of its message
    std::vector<std::int32_t> sent_by; // by token: the sender's op
    for (auto &[channel, ends] : channels)
        for (std::size_t k = 0; k < ends.first.size(); ++k) {
            const End from = ends.first[k], to = ends.second.at(k);
            cut(touch[from.position][from.op], &touch[to.position][to.op], options.slice,
                options.element, slices_of[from.position][from.op], &slices_of[to.position][to.op]);
            const auto first = static_cast<std::int32_t>(message.size());
            token[from.position][from.op] = token[to.position][to.op] = first;
            message.resize(message.size() + slices_of[from.position][from.op].size(), first);
            sent_by.resize(message.size(), static_cast<std::int32_t>(from.op));
        }
    touch.clear();
    channels.clear();

    // 3. The passes of each position.
    std::vector<schedule::Block> all(static_cast<std::size_t>(schedule.blocks()));
    std::iota(all.begin(), all.end(), 0);
    Lowered lowered;
    lowered.passes.resize(ranks);
    lowered.publishes.resize(ranks);
    lowered.scratch_bytes.resize(ranks);
    std::vector<std::int32_t> publish(message.size(), -1);
    for (std::size_t p = 0; p < ranks; ++p) {
        const std::vector<Op> &ops = programs[p].ops;
        PassBuilder builder(ops, programs[p], options, lowered.passes[p], lowered.publishes[p]);
        for (std::size_t i = 0; i < ops.size(); ++i)
            for (std::size_t s = 0; s < slices_of[p][i].size(); ++s) {
                const auto op = static_cast<std::int32_t>(i);
                const Slice &slice = slices_of[p][i][s];
                const std::int32_t id = token[p][i] + static_cast<std::int32_t>(s);
                if (ops[i].kind == OpKind::send)
                    publish[static_cast<std::size_t>(id)] = builder.send(op, slice);
                else if (ops[i].kind == OpKind::recv)
                    builder.recv(op, slice, ops[i].peer, id);
                else
                    builder.local(op, slice);
            }
        std::vector<Slice> slices;
        cut(fills(schedule, static_cast<Position>(p), all, memories[p]), nullptr, options.slice,
            options.element, slices, nullptr);
        for (const Slice &slice : slices)
            builder.local(static_cast<std::int32_t>(ops.size()), slice, true);
        lowered.scratch_bytes[p] = builder.finish();
        slices_of[p] = {};
        programs[p] = {};
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
