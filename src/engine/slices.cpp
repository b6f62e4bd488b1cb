// SPDX-License-Identifier: BSD-3-Clause
#include "engine/slices.hpp"

#include <algorithm>

#include "schedule/slices.hpp"

namespace stretto::engine {

using schedule::kNoSlot;
using schedule::Op;
using schedule::Slot;

std::vector<Touch> touches(const Op &op, Memory &memory) {
    std::vector<Touch> result(op.blocks.size());
    for (std::size_t j = 0; j < op.blocks.size(); ++j) {
        if (op.from != kNoSlot)
            result[j].reads.push_back(memory.read(op.from, op.blocks[j]));
        for (const Slot source : op.sources)
            result[j].reads.push_back(memory.read(source, op.blocks[j]));
    }
    if (op.into != kNoSlot)
        for (std::size_t j = 0; j < op.blocks.size(); ++j)
            result[j].write =
                memory.write(op.into, op.targets.empty() ? op.blocks[j] : op.targets[j]);
    return result;
}

std::vector<Touch> local_copies(const schedule::Schedule &schedule, Position position,
                                const std::vector<schedule::Block> &blocks, Memory &memory) {
    std::vector<Touch> result;
    for (const schedule::Block block : blocks)
        if (!memory.written(block) && schedule.contract.end(position, block))
            result.push_back(
                {{memory.read(schedule::kWork, block)}, memory.write(schedule::kWork, block)});
    return result;
}

namespace {

// Whether b begins where a ends.
bool follows(const Place &a, const Place &b) {
    const std::size_t length = a.range.length;
    return a.scratch == b.scratch && a.key + length == b.key && a.range.space == b.range.space &&
           a.range.offset + length == b.range.offset;
}

bool follows(const Touch &a, const Touch &b) {
    for (std::size_t k = 0; k < b.reads.size(); ++k)
        if (!follows(a.reads[k], b.reads[k]))
            return false;
    return !b.write || follows(*a.write, *b.write);
}

std::size_t length_of(const Touch &touch) {
    return (touch.write ? *touch.write : touch.reads[0]).range.length;
}

Place part(Place place, std::size_t offset, std::size_t length) {
    place.key += offset;
    place.range.offset += offset;
    place.range.length = length;
    return place;
}

Slice part(const Touch &touch, std::size_t offset, std::size_t length) {
    Slice slice;
    for (const Place &read : touch.reads)
        slice.reads.push_back(part(read, offset, length));
    if (touch.write)
        slice.write = part(*touch.write, offset, length);
    slice.length = slice.stored = length;
    return slice;
}

// The begin and the length of a slice.
struct Cut {
    std::size_t block, within, length;
    std::int32_t layer;
};

// Calls found(cut) for each slice of an op whose j-th block has length_of(j) bytes.
template<class LengthOf, class Found>
void each_cut(std::size_t blocks, LengthOf &&length_of, const Joins &joins, std::size_t most,
              std::size_t element, Found &&found) {
    std::optional<Cut> open; // blocks may still be sent with it
    std::int32_t cuts = 0;
    for (std::size_t j = 0; j < blocks; ++j) {
        const std::size_t length = length_of(j);
        if (length == 0)
            continue;
        const bool joined = open && !joins.empty() && joins[j];
        const std::size_t begun = schedule::slices_begun(
            length, joined ? open->length + length : schedule::kNoJoin, most);
        if (begun == 0) {
            open->length += length;
            continue;
        }
        const std::size_t each = schedule::slice_length(length, most, element);
        std::int32_t layer = begun == 1 ? cuts : 0;
        for (std::size_t at = 0; at < length; at += each, ++cuts) {
            if (open)
                found(*open);
            open = {j, at, std::min(each, length - at), layer++};
        }
    }
    if (open)
        found(*open);
}

} // namespace

Joins joins(const std::vector<Touch> &touch) {
    if (touch.size() < 2)
        return {};
    Joins joined(touch.size());
    const Touch *before = nullptr; // the last block that has bytes
    for (std::size_t j = 0; j < touch.size(); ++j) {
        if (length_of(touch[j]) == 0)
            continue;
        joined[j] = before != nullptr && follows(*before, touch[j]);
        before = &touch[j];
    }
    return joined;
}

Joins both(const Joins &a, const Joins &b) {
    if (a.empty() || b.empty())
        return {};
    Joins joined(a.size());
    for (std::size_t j = 0; j < a.size(); ++j)
        joined[j] = a[j] && b.at(j);
    return joined;
}

std::vector<Slice> cut(const std::vector<Touch> &touch, const Joins &joins, std::size_t most,
                       std::size_t element) {
    std::vector<Slice> slices;
    each_cut(
        touch.size(), [&](std::size_t j) { return length_of(touch[j]); }, joins, most, element,
        [&](const Cut &each) {
            slices.push_back(part(touch[each.block], each.within, each.length));
            slices.back().layer = each.layer;
        });
    return slices;
}

std::size_t count_slices(const std::vector<schedule::Block> &list, const Blocks &blocks,
                         const Joins &joins, std::size_t most, std::size_t element) {
    std::size_t count = 0;
    each_cut(
        list.size(), [&](std::size_t j) { return blocks.length(list[j]); }, joins, most, element,
        [&](const Cut &) { ++count; });
    return count;
}

std::vector<Slice> cut_alike(const std::vector<Touch> &touch, const Blocks &blocks,
                             std::size_t most, std::size_t element) {
    std::vector<Slice> slices;
    const std::size_t piece = schedule::slice_length(blocks.least(), most, element);
    const std::size_t pieces = (blocks.least() + piece - 1) / piece;
    for (std::size_t j = 0; j < touch.size(); ++j) {
        for (std::size_t k = 0; k < pieces; ++k) {
            const std::size_t at = k * piece;
            const bool last = k + 1 == pieces;
            slices.push_back(part(touch[j], at, last ? length_of(touch[j]) - at : piece));
            slices.back().stored = last ? blocks.longest() - at : piece;
            slices.back().layer = static_cast<std::int32_t>(pieces == 1 ? j : k);
            slices.back().block = static_cast<std::int32_t>(j);
            slices.back().within = at;
        }
    }
    return slices;
}

} // namespace stretto::engine
