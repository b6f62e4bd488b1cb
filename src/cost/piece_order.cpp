// SPDX-License-Identifier: BSD-3-Clause
#include "cost/piece_order.hpp"

#include <algorithm>
#include <string>

#include "base/status.hpp"
#include "schedule/access.hpp"

namespace stretto::cost {

using schedule::Access;
using schedule::Op;

void PieceOrder::begin(std::uint32_t position, const schedule::Program &program) {
    position_ = position;
    open_ = schedule::OpenOps(program.open);
    fuses_ = program.open == schedule::Window{} &&
             std::ranges::all_of(program.ops, [](const Op &op) { return op.after.empty(); });
    ops_.clear();
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
        const TaskId own = first + place.first;
        // Slice after slice; a block has as many in every op.
        const auto wait_for = [&](TaskId earlier) {
            for (std::uint32_t slice = 0; slice < place.pieces; ++slice)
                wait(earlier + slice, own + slice);
        };
        Cell &touched = cell(access.slot, access.block);
        if (op.kind == schedule::OpKind::send)
            publish(touched, own, place);
        if (access.writes) {
            touched.hazards.write(own, op.group, wait_for);
            touched.sent = kNone;
        } else {
            touched.hazards.read(own, wait_for);
        }
    });
    for (const std::int32_t earlier : op.after)
        wait_for_all(earlier, whole);
    if (const std::int32_t earlier = open_.issue(op.kind, index); earlier >= 0)
        wait_for_all(earlier, whole);
}

PieceOrder::Cell &PieceOrder::cell(schedule::Slot slot, schedule::Block block) {
    Cell &found = cells_[schedule::cell_key(slot, block)];
    if (found.position != position_) {
        found.position = position_;
        found.hazards.clear();
        found.sent = kNone;
    }
    return found;
}

void PieceOrder::publish(Cell &cell, TaskId own, const Place &place) {
    const std::vector<TaskId> &writers = cell.hazards.writers();
    if (cell.sent == kNone)
        cell.sent = fuses_ && !writers.empty() ? writers.back() : own;
    for (std::uint32_t slice = 0; slice < place.pieces; ++slice) {
        TaskId &publisher = tasks_[own + slice].publisher;
        const TaskId found = fuses_ ? cell.sent + slice : own + slice;
        // Blocks that travel together need not have come together.
        publisher = publisher == kNone || publisher == found ? found : own + slice;
    }
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

} // namespace stretto::cost
