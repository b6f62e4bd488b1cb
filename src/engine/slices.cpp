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

std::vector<Touch> fills(const schedule::Schedule &schedule, Position position,
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

std::vector<Cut> cuts(const std::vector<Touch> &touch, const std::vector<Touch> *other,
                      std::size_t most, std::size_t element) {
    std::vector<Cut> found;
    std::size_t before = 0; // the last block that has bytes
    for (std::size_t j = 0; j < touch.size(); ++j) {
        const std::size_t length = length_of(touch[j]);
        if (length == 0)
            continue;
        const bool neighbour = !found.empty() && follows(touch[before], touch[j]) &&
                               (other == nullptr || follows((*other)[before], (*other)[j]));
        before = j;
        const std::size_t begun = schedule::slices_begun(
            length, neighbour ? found.back().length + length : schedule::kNoJoin, most);
        if (begun == 0)
            found.back().length += length;
        const std::size_t each = schedule::slice_length(length, most, element);
        std::int32_t layer = begun == 1 ? static_cast<std::int32_t>(found.size()) : 0;
        for (std::size_t at = 0; begun > 0 && at < length; at += each)
            found.push_back({j, at, std::min(each, length - at), layer++});
    }
    return found;
}

} // namespace

void cut(const std::vector<Touch> &touch, const std::vector<Touch> *other, std::size_t most,
         std::size_t element, std::vector<Slice> &slices, std::vector<Slice> *other_slices) {
    for (const Cut &each : cuts(touch, other, most, element)) {
        slices.push_back(part(touch[each.block], each.within, each.length));
        slices.back().layer = each.layer;
        if (other != nullptr) {
            other_slices->push_back(part((*other)[each.block], each.within, each.length));
            other_slices->back().layer = each.layer;
        }
    }
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
