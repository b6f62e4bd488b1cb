// SPDX-License-Identifier: BSD-3-Clause
#include "select/piece_order.hpp"

#include <algorithm>
#include <string>

#include "base/status.hpp"
#include "schedule/access.hpp"

namespace stretto::select {

using schedule::Access;
using schedule::Op;
using schedule::OpKind;

void PieceOrder::begin(std::uint32_t position, schedule::Window open) {
    position_ = position;
    open_ = open;
    ops_.clear();
    sends_.clear();
    recvs_.clear();
}

void PieceOrder::add(const Op &op, const Cut &cut, TaskId first) {
    const auto index = static_cast<std::int32_t>(ops_.size());
    const Whole whole{first, static_cast<std::uint32_t>(cut.pieces.size())};
    ops_.push_back(whole);
    latest_.resize(tasks_.size(), kNone);
    // Each block of an op is touched as often as the others, one after the other.
    std::size_t touches = 0, at = 0;
    schedule::each_access(op, [&](const Access &) { ++touches; });
    const std::size_t each = op.blocks.empty() ? 1 : touches / op.blocks.size();
    schedule::each_access(op, [&](const Access &access) {
        const Place &place = cut.places[at++ / each];
        if (place.pieces == 0)
            return;
        if (access.writes)
            write(cell(access.slot, access.block), place, first, op.group);
        else
            read(cell(access.slot, access.block), place, first);
    });
    for (const std::int32_t earlier : op.after)
        wait_for_all(earlier, whole);
    if (op.kind == OpKind::recv) {
        window(recvs_, open_.recv, whole);
        recvs_.push_back(index);
    }
    if (op.kind == OpKind::send) {
        window(sends_, open_.send, whole);
        sends_.push_back(index);
    }
}

PieceOrder::Cell &PieceOrder::cell(schedule::Slot slot, schedule::Block block) {
    Cell &found = cells_[schedule::cell_key(slot, block)];
    if (found.position != position_) {
        found.position = position_;
        found.writers.clear();
        found.readers.clear();
        found.base.clear();
        found.group = 0;
    }
    return found;
}

void PieceOrder::read(Cell &cell, const Place &place, TaskId first) {
    wait(cell.writers, place, first);
    cell.readers.push_back(first + place.first);
}

void PieceOrder::write(Cell &cell, const Place &place, TaskId first, std::int32_t group) {
    const bool joins = group > 0 && group == cell.group && cell.readers.empty();
    if (!joins) {
        // Readers wait for the writers, so to wait for the readers is enough.
        cell.base.swap(cell.readers.empty() ? cell.writers : cell.readers);
        cell.writers.clear();
        cell.readers.clear();
        cell.group = group;
    }
    wait(cell.base, place, first);
    cell.writers.push_back(first + place.first);
}

// Slice after slice; a block has as many in every op.
void PieceOrder::wait(const std::vector<TaskId> &earlier, const Place &place, TaskId first) {
    for (const TaskId task : earlier)
        for (std::uint32_t slice = 0; slice < place.pieces; ++slice)
            wait(task + slice, first + place.first + slice);
}

void PieceOrder::wait(TaskId earlier, TaskId later) {
    if (earlier == later || latest_[earlier] == later)
        return; // blocks that travel together
    latest_[earlier] = later;
    pairs_.emplace_back(earlier, later);
    ++tasks_[later].waits;
    if (pairs_.size() + tasks_.size() > work_)
        throw Error(Status::unsupported, "price: more than " + std::to_string(work_) +
                                             " pieces and pairs of them that wait for each other; "
                                             "fewer ranks take less");
}

void PieceOrder::window(std::vector<std::int32_t> &issued, std::int32_t size, const Whole &op) {
    if (size > 0 && issued.size() >= static_cast<std::size_t>(size))
        wait_for_all(issued[issued.size() - static_cast<std::size_t>(size)], op);
}

void PieceOrder::wait_for_all(std::int32_t earlier, const Whole &later) {
    Whole &op = ops_[static_cast<std::size_t>(earlier)];
    if (op.pieces == 0)
        return;
    if (op.end == kNone && op.pieces == 1)
        op.end = op.first;
    if (op.end == kNone) {
        op.end = static_cast<TaskId>(tasks_.size());
        tasks_.push_back({.position = position_});
        latest_.push_back(kNone);
        for (std::uint32_t i = 0; i < op.pieces; ++i)
            wait(op.first + i, op.end);
    }
    for (std::uint32_t i = 0; i < later.pieces; ++i)
        wait(op.end, later.first + i);
}

} // namespace stretto::select
