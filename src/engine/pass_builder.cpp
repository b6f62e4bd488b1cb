// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pass_builder.hpp"

#include <algorithm>
#include <utility>

#include "engine/memory.hpp"

namespace stretto::engine {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;

namespace {

// How many slices a local copy waits.  No other rank waits for it, so slices that others wait for
// go first; but not all of them, or the input would have left the cache.
constexpr std::int32_t kFillsBehindSlices = 3;

} // namespace

PassBuilder::PassBuilder(const std::vector<Op> &ops, const Program &program,
                         const LowerOptions &options, std::vector<Pass> &passes,
                         std::vector<Publish> &publishes)
    : ops_(ops), passes_(passes), publishes_(publishes), of_op_(ops.size()),
      commutes_(options.commutes) {
    // Ops with a declared order are not fused, so that the order is kept exactly.
    bool declared = program.open.recv > 0 || program.open.send > 0;
    schedule::OpenOps open(program.open);
    for (const Op &op : ops) {
        declared = declared || !op.after.empty();
        window_.push_back(open.issue(op.kind, static_cast<std::int32_t>(window_.size())));
    }
    fuse_ = options.fuse && !declared;
}

// Returns the publish of a send's slice.
std::int32_t PassBuilder::send(std::int32_t op, const Slice &slice) {
    const Place &data = slice.reads[0];
    if (fuse_) {
        bool unread = false;
        const std::int32_t writer = writer_of(data, unread);
        if (writer >= 0)
            return publish_of(writer, slice.stored); // dual store
        if (const std::int32_t earlier = published(data); earlier >= 0)
            return earlier; // multicast
    }
    const std::int32_t pass = add(op, slice);
    at(pass).operands.push_back({data.range, -1, -1});
    reads(pass, data);
    return publish_of(pass, slice.stored);
}

void PassBuilder::recv(std::int32_t op, const Slice &slice, Position peer, std::int32_t token) {
    const Operand incoming{{Space::cell, 0, slice.length}, peer, token};
    if (slice.reads.empty()) {
        const std::int32_t pass = add(op, slice);
        at(pass).operands.push_back(incoming);
        writes(pass, *slice.write);
        return;
    }
    const Place &with = slice.reads[0];
    // The fold goes from first to last, so an operand on the left can join it only if it may as
    // well be on the right.
    const bool on_the_right = ops_[static_cast<std::size_t>(op)].side == schedule::Side::right;
    if (fuse_ && (on_the_right || commutes_) && with.key == slice.write->key &&
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
    const std::int32_t pass = add(op, slice);
    at(pass).operands.push_back({with.range, -1, -1});
    at(pass).operands.push_back(incoming);
    if (!on_the_right)
        std::swap(at(pass).operands[0], at(pass).operands[1]);
    reads(pass, with);
    writes(pass, *slice.write);
}

void PassBuilder::local(std::int32_t op, const Slice &slice, bool local_copy) {
    const std::int32_t pass = add(op, slice);
    at(pass).local_copy = local_copy;
    if (local_copy)
        at(pass).layer += kFillsBehindSlices;
    for (const Place &read : slice.reads) {
        at(pass).operands.push_back({read.range, -1, -1});
        reads(pass, read);
    }
    if (!local_copy)
        writes(pass, *slice.write);
    else
        at(pass).result = slice.write->range; // the same place for hazards: nothing to wait for
}

std::size_t PassBuilder::finish() {
    forward();
    for (std::size_t i = 0; i < passes_.size(); ++i) {
        Pass &pass = passes_[i];
        // A ring's partial sums go on to the next rank, and its results come to their place.
        const bool unread =
            pass.result && readers_[i].empty() &&
            (pass.result->space == Space::scratch || overwritten_[i] == pass.result->length);
        if (unread && pass.publish >= 0)
            pass.result.reset();
        std::sort(pass.after.begin(), pass.after.end());
        pass.after.truncate(std::unique(pass.after.begin(), pass.after.end()));
        pass.after.truncate(
            std::remove_if(pass.after.begin(), pass.after.end(), [&](std::int32_t before) {
                return before == static_cast<std::int32_t>(i) || at(before).gone;
            }));
    }
    return compact();
}

std::int32_t PassBuilder::add(std::int32_t op, const Slice &slice) {
    const auto pass = static_cast<std::int32_t>(passes_.size());
    passes_.emplace_back();
    readers_.emplace_back();
    overwritten_.push_back(0);
    at(pass).op = op;
    at(pass).layer = slice.layer;
    at(pass).length = slice.stored;
    at(pass).block = slice.block;
    at(pass).within = slice.within;
    if (op >= static_cast<std::int32_t>(ops_.size()))
        return pass; // a local copy, after the program
    of_op(op).push_back(pass);
    const Op &what = ops_[static_cast<std::size_t>(op)];
    for (const std::int32_t before : what.after)
        depend(pass, before);
    if (const std::int32_t before = window_[static_cast<std::size_t>(op)]; before >= 0)
        depend(pass, before);
    return pass;
}

void PassBuilder::depend(std::int32_t pass, std::int32_t op) {
    at(pass).after.insert(of_op(op).begin(), of_op(op).end());
}

void PassBuilder::reads(std::int32_t pass, const Place &place) {
    PassIndices writers;
    ranges(place).read(place.key, place.range.length, pass, writers);
    for (const std::int32_t writer : writers) {
        readers_[static_cast<std::size_t>(writer)].push_back(pass);
        at(pass).after.push_back(writer);
    }
}

void PassBuilder::writes(std::int32_t pass, const Place &place) {
    at(pass).result = place.range;
    ranges(place).write(place.key, place.range.length, pass, at(pass).after,
                        [&](std::int32_t earlier, std::size_t bytes) {
                            overwritten_[static_cast<std::size_t>(earlier)] += bytes;
                        });
}

// The pass whose whole result is exactly this place, or -1.
std::int32_t PassBuilder::writer_of(const Place &place, bool &unread) {
    const std::int32_t writer = ranges(place).sole_writer(place.key, place.range.length, unread);
    return writer >= 0 && at(writer).result == place.range ? writer : -1;
}

// The publish of an earlier pass that only published exactly this, or -1.
std::int32_t PassBuilder::published(const Place &place) {
    std::int32_t found = -1;
    ranges(place).visit(place.key, place.range.length, [&](Ranges::State &state, std::size_t) {
        for (const std::int32_t reader : state.readers()) {
            const Pass &pass = at(reader);
            if (pass.publish >= 0 && !pass.result && pass.operands.size() == 1 &&
                pass.operands[0].range == place.range)
                found = pass.publish;
        }
    });
    return found;
}

std::int32_t PassBuilder::publish_of(std::int32_t pass, std::size_t length) {
    if (at(pass).publish < 0) {
        at(pass).publish = static_cast<std::int32_t>(publishes_.size());
        publishes_.push_back({length, pass, {}});
    }
    return at(pass).publish;
}

// A receive into scratch that one pass reads as a whole is dropped: that pass reads the cell
// itself.
void PassBuilder::forward() {
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

// Forwarded blocks need no room: the remaining ranges of scratch memory move together.
std::size_t PassBuilder::compact() {
    std::vector<Range *> used;
    for (Pass &pass : passes_) {
        if (pass.gone)
            continue;
        for (Operand &operand : pass.operands)
            if (operand.owner < 0 && operand.range.space == Space::scratch)
                used.push_back(&operand.range);
        if (pass.result && pass.result->space == Space::scratch)
            used.push_back(&*pass.result);
    }
    std::ranges::sort(used, {}, &Range::offset);
    std::size_t bytes = 0, from = 0, to = 0; // bytes at `from` ... `to` move to `end`
    for (Range *range : used) {
        if (range->offset >= to) { // they no longer overlap
            bytes = align_up(bytes + (to - from));
            from = range->offset;
            to = from;
        }
        to = std::max(to, range->offset + range->length);
        range->offset = bytes + (range->offset - from);
    }
    return align_up(bytes + (to - from));
}

} // namespace stretto::engine
