// SPDX-License-Identifier: BSD-3-Clause
#include "engine/slices.hpp"

#include "transport/cell.hpp"

#include <algorithm>

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

bool follows(const Place &a, std::size_t length, const Place &b) {
    return a.scratch == b.scratch && a.key + length == b.key && a.range.space == b.range.space &&
           a.range.offset + length == b.range.offset;
}

bool follows(const Slice &slice, const Touch &touch) {
    for (std::size_t k = 0; k < touch.reads.size(); ++k)
        if (!follows(slice.reads[k], slice.length, touch.reads[k]))
            return false;
    return !touch.write || follows(*slice.write, slice.length, *touch.write);
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

void extend(Slice &slice, std::size_t length) {
    slice.length += length;
    slice.stored = slice.length;
    for (Place &read : slice.reads)
        read.range.length = slice.length;
    if (slice.write)
        slice.write->range.length = slice.length;
}

// A long block is cut into equal pieces of at most `most` bytes, on cache lines.
std::size_t piece_of(std::size_t length, std::size_t most, std::size_t element) {
    const std::size_t grain = transport::kLine % element == 0 ? transport::kLine : element;
    const std::size_t pieces = (length + most - 1) / most;
    return ((length + pieces - 1) / pieces + grain - 1) / grain * grain;
}

} // namespace

void cut(const std::vector<Touch> &touch, const std::vector<Touch> *other, std::size_t most,
         std::size_t element, std::vector<Slice> &slices, std::vector<Slice> *other_slices) {
    for (std::size_t j = 0; j < touch.size(); ++j) {
        const Place &any = touch[j].write ? *touch[j].write : touch[j].reads[0];
        const std::size_t length = any.range.length;
        if (length == 0)
            continue;
        if (length <= most && !slices.empty() && slices.back().length + length <= most &&
            follows(slices.back(), touch[j]) &&
            (other == nullptr || follows(other_slices->back(), (*other)[j]))) {
            extend(slices.back(), length);
            if (other != nullptr)
                extend(other_slices->back(), length);
            continue;
        }
        const std::size_t piece = piece_of(length, most, element);
        std::int32_t layer = length <= most ? static_cast<std::int32_t>(slices.size()) : 0;
        for (std::size_t at = 0; at < length; at += piece, ++layer) {
            const std::size_t bytes = std::min(piece, length - at);
            slices.push_back(part(touch[j], at, bytes));
            slices.back().layer = layer;
            if (other != nullptr) {
                other_slices->push_back(part((*other)[j], at, bytes));
                other_slices->back().layer = layer;
            }
        }
    }
}

std::vector<Slice> cut_alike(const std::vector<Touch> &touch, const Blocks &blocks,
                             std::size_t most, std::size_t element) {
    std::vector<Slice> slices;
    const std::size_t piece = piece_of(blocks.least(), most, element);
    const std::size_t pieces = (blocks.least() + piece - 1) / piece;
    for (std::size_t j = 0; j < touch.size(); ++j) {
        const Place &any = touch[j].write ? *touch[j].write : touch[j].reads[0];
        for (std::size_t k = 0; k < pieces; ++k) {
            const std::size_t at = k * piece;
            const bool last = k + 1 == pieces;
            slices.push_back(part(touch[j], at, last ? any.range.length - at : piece));
            slices.back().stored = last ? blocks.longest() - at : piece;
            slices.back().layer = static_cast<std::int32_t>(pieces == 1 ? j : k);
            slices.back().block = static_cast<std::int32_t>(j);
            slices.back().within = at;
        }
    }
    return slices;
}

} // namespace stretto::engine
