// SPDX-License-Identifier: BSD-3-Clause
#include "engine/lower.hpp"

#include <map>
#include <tuple>

#include "base/status.hpp"
#include "engine/ranges.hpp"
#include "engine/slices.hpp"

namespace stretto::engine {

using schedule::Block;
using schedule::kWork;
using schedule::Op;
using schedule::OpKind;
using schedule::Program;

namespace {

// Slices: nobody waits for what a rank keeps of its own, so what others wait for goes first; not
// all of it, or the input would have left the cache.
constexpr std::int32_t kFillsBehind = 3;

// Builds the passes of one position, op by op.
class Builder {
public:
    Builder(const std::vector<Op> &ops, const Program &program, bool fuse,
            std::vector<Pass> &passes, std::vector<Publish> &publishes)
        : ops_(ops), open_(program.open), passes_(passes), publishes_(publishes),
          of_op_(ops.size()) {
        // Declared order is kept to the letter: ops that carry it are not fused.
        bool declared = open_.recv > 0 || open_.send > 0;
        for (const Op &op : ops)
            declared = declared || !op.after.empty();
        fuse_ = fuse && !declared;
    }

    // Returns the publish of a send's slice.
    std::int32_t send(std::int32_t op, const Slice &slice) {
        const Place &data = slice.reads[0];
        if (fuse_) {
            bool unread = false;
            const std::int32_t writer = writer_of(data, unread);
            if (writer >= 0)
                return publish_of(writer, slice.length); // dual store
            if (const std::int32_t earlier = published(data); earlier >= 0)
                return earlier; // multicast
        }
        const std::int32_t pass = add(op, slice.layer);
        at(pass).operands.push_back({data.range, -1, -1});
        reads(pass, data);
        return publish_of(pass, slice.length);
    }

    void recv(std::int32_t op, const Slice &slice, Position peer, std::int32_t token) {
        const Operand incoming{{Space::cell, 0, slice.length}, peer, token};
        if (slice.reads.empty()) {
            const std::int32_t pass = add(op, slice.layer);
            at(pass).operands.push_back(incoming);
            writes(pass, *slice.write);
            return;
        }
        const Place &with = slice.reads[0];
        // Only operands that come on the right: the fold goes from first to last.
        const bool on_the_right = ops_[static_cast<std::size_t>(op)].side == schedule::Side::right;
        if (fuse_ && on_the_right && with.key == slice.write->key &&
            with.scratch == slice.write->scratch) {
            bool unread = false;
            const std::int32_t writer = writer_of(with, unread);
            if (writer >= 0 && unread && at(writer).publish < 0) { // chaining
                at(writer).operands.push_back(incoming);
                at(writer).op = op;
                of_op(op).push_back(writer);
                return;
            }
        }
        const std::int32_t pass = add(op, slice.layer);
        at(pass).operands.push_back({with.range, -1, -1});
        at(pass).operands.push_back(incoming);
        if (!on_the_right)
            std::swap(at(pass).operands[0], at(pass).operands[1]);
        reads(pass, with);
        writes(pass, *slice.write);
    }

    void local(std::int32_t op, const Slice &slice, bool fill = false) {
        const std::int32_t pass = add(op, slice.layer);
        at(pass).fill = fill;
        if (fill)
            at(pass).layer += kFillsBehind;
        for (const Place &read : slice.reads) {
            at(pass).operands.push_back({read.range, -1, -1});
            reads(pass, read);
        }
        if (!fill)
            writes(pass, *slice.write);
        else
            at(pass).result = slice.write->range; // the same place for hazards: nothing to wait for
    }

    void finish() {
        forward();
        for (std::size_t i = 0; i < passes_.size(); ++i) {
            Pass &pass = passes_[i];
            const bool useless = pass.result && pass.result->space == Space::scratch &&
                                 readers_[i].empty() && pass.publish >= 0;
            if (useless)
                pass.result.reset();
            std::sort(pass.after.begin(), pass.after.end());
            pass.after.truncate(std::unique(pass.after.begin(), pass.after.end()));
            pass.after.truncate(
                std::remove_if(pass.after.begin(), pass.after.end(), [&](std::int32_t before) {
                    return before == static_cast<std::int32_t>(i) || at(before).gone;
                }));
        }
    }

private:
    Pass &at(std::int32_t pass) { return passes_[static_cast<std::size_t>(pass)]; }
    PassIndices &of_op(std::int32_t op) { return of_op_[static_cast<std::size_t>(op)]; }
    Ranges &ranges(const Place &place) { return place.scratch ? scratch_ : vector_; }

    std::int32_t add(std::int32_t op, std::int32_t layer) {
        const auto pass = static_cast<std::int32_t>(passes_.size());
        passes_.emplace_back();
        readers_.emplace_back();
        at(pass).op = op;
        at(pass).layer = layer;
        if (op >= static_cast<std::int32_t>(ops_.size()))
            return pass; // a fill, after the program
        of_op(op).push_back(pass);
        const Op &what = ops_[static_cast<std::size_t>(op)];
        for (const std::int32_t before : what.after)
            depend(pass, before);
        windowed(pass, op, what.kind);
        return pass;
    }

    void depend(std::int32_t pass, std::int32_t op) {
        at(pass).after.insert(of_op(op).begin(), of_op(op).end());
    }

    // Receive i comes after receive i - window, send j after send j - window.
    void windowed(std::int32_t pass, std::int32_t op, OpKind kind) {
        const std::int32_t width = kind == OpKind::recv   ? open_.recv
                                   : kind == OpKind::send ? open_.send
                                                          : 0;
        if (width <= 0)
            return;
        std::int32_t seen = 0;
        for (std::int32_t before = op - 1; before >= 0; --before)
            if (ops_[static_cast<std::size_t>(before)].kind == kind && ++seen == width) {
                depend(pass, before);
                return;
            }
    }

    void reads(std::int32_t pass, const Place &place) {
        PassIndices writers;
        ranges(place).read(place.key, place.range.length, pass, writers);
        for (const std::int32_t writer : writers) {
            readers_[static_cast<std::size_t>(writer)].push_back(pass);
            at(pass).after.push_back(writer);
        }
    }

    void writes(std::int32_t pass, const Place &place) {
        at(pass).result = place.range;
        ranges(place).write(place.key, place.range.length, pass, at(pass).after);
    }

    // The pass whose whole result is exactly this place, or -1.
    std::int32_t writer_of(const Place &place, bool &unread) {
        const std::int32_t writer =
            ranges(place).sole_writer(place.key, place.range.length, unread);
        return writer >= 0 && at(writer).result == place.range ? writer : -1;
    }

    // The publish of an earlier pass that did nothing but publish exactly this, or -1.
    std::int32_t published(const Place &place) {
        std::int32_t found = -1;
        ranges(place).visit(place.key, place.range.length, [&](Ranges::State &state) {
            for (const std::int32_t reader : state.readers) {
                const Pass &pass = at(reader);
                if (pass.publish >= 0 && !pass.result && pass.operands.size() == 1 &&
                    pass.operands[0].range == place.range)
                    found = pass.publish;
            }
        });
        return found;
    }

    std::int32_t publish_of(std::int32_t pass, std::size_t length) {
        if (at(pass).publish < 0) {
            at(pass).publish = static_cast<std::int32_t>(publishes_.size());
            publishes_.push_back({length, pass, {}});
        }
        return at(pass).publish;
    }

    // A receive into scratch that one pass reads as a whole: that pass takes the cell itself.
    void forward() {
        if (!fuse_)
            return;
        for (std::size_t i = 0; i < passes_.size(); ++i) {
            Pass &pass = passes_[i];
            if (pass.operands.size() != 1 || pass.operands[0].range.space != Space::cell ||
                pass.publish >= 0 || !pass.result || pass.result->space != Space::scratch ||
                readers_[i].size() != 1)
                continue;
            Pass &reader = at(readers_[i][0]);
            std::int32_t uses = 0;
            for (const Operand &operand : reader.operands)
                uses += operand.owner < 0 && operand.range == *pass.result;
            if (uses != 1)
                continue;
            for (Operand &operand : reader.operands)
                if (operand.owner < 0 && operand.range == *pass.result)
                    operand = pass.operands[0];
            pass.gone = true;
        }
    }

    const std::vector<Op> &ops_;
    const schedule::Window open_;
    std::vector<Pass> &passes_;
    std::vector<Publish> &publishes_;
    std::vector<PassIndices> of_op_;
    std::vector<PassIndices> readers_; // of what a pass wrote
    Ranges vector_, scratch_;
    bool fuse_ = true;
};

} // namespace

Lowered lower(const schedule::Schedule &schedule, const LowerOptions &options) {
    if (schedule.token)
        throw Error(Status::unsupported, "schedule " + schedule.name +
                                             " chooses by a token, which this engine does not");
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    std::vector<std::size_t> bounds = schedule.partition.bounds(options.count);
    for (std::size_t &bound : bounds)
        bound *= options.element;

    // 1. What each op touches, and which ops are the two ends of a message.
    std::vector<std::vector<Op>> path(ranks);                      // by position
    std::vector<std::vector<std::vector<Slice>>> slices_of(ranks); // by position, op
    std::vector<Program> programs(ranks);
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
        path[p] = schedule::path(programs[p]);
        const std::vector<Op> &ops = path[p];
        memories.emplace_back(schedule, position, ops, bounds, options.output_everywhere);
        slices_of[p].resize(ops.size());
        for (std::size_t i = 0; i < ops.size(); ++i) {
            touch[p].push_back(touches(ops[i], memories[p]));
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
        token[p].assign(path[p].size(), -1);
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

    // 3. The passes of each position.
    Lowered lowered;
    lowered.passes.resize(ranks);
    lowered.publishes.resize(ranks);
    lowered.scratch_bytes.resize(ranks);
    std::vector<std::int32_t> publish(message.size(), -1);
    for (std::size_t p = 0; p < ranks; ++p) {
        const std::vector<Op> &ops = path[p];
        Builder builder(ops, programs[p], options.fuse, lowered.passes[p], lowered.publishes[p]);
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
        // What ends where it began, and was never written, still has to reach the output.
        std::vector<Touch> fill;
        for (Block block = 0; block < schedule.blocks(); ++block)
            if (!memories[p].written(block) &&
                schedule.contract.end(static_cast<Position>(p), block))
                fill.push_back({{memories[p].read(kWork, block)}, memories[p].write(kWork, block)});
        std::vector<Slice> slices;
        cut(fill, nullptr, options.slice, options.element, slices, nullptr);
        for (const Slice &slice : slices)
            builder.local(static_cast<std::int32_t>(ops.size()), slice, true);
        builder.finish();
        lowered.scratch_bytes[p] = memories[p].scratch_bytes();
    }

    // 4. Receivers learn which publish holds their message, publishers who reads it.
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
