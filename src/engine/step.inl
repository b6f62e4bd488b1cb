// SPDX-License-Identifier: BSD-3-Clause
// One step: whether it can run, and its work.  Part of engine.cpp, which inlines it into the
// functions that play steps.
#pragma once

#include "base/clock.hpp"
#include "engine/engine.hpp"

namespace stretto::engine {

// From this size of a slice on, results of reductions are written to their cells by the string
// instruction.
inline constexpr std::uint32_t kLeastReducedStringBytes = 48u << 10;

// Whether a step can run: its operands' cells are published, its own cell has room, and no rank
// still reads in place what it overwrites.
[[gnu::always_inline]] inline bool Engine::ready(Run &run, const Step &step) {
    const StepOperand *operand = run.plan->operands.data() + step.first_operand;
    for (std::uint32_t k = 0; k < step.operands; ++k)
        if (operand[k].space == Space::cell) {
            const std::uint64_t position = run.bases[operand[k].rank] + operand[k].offset;
            if (!transport::published(cell(operand[k].rank, position), run.signature + position))
                return false;
        }
    if (step.publishes) {
        if (step.length >= kLeastZeroCopyBytes) {
            if (!storable(run, step))
                return false;
        } else if (!stream_.room(
                       {run.bases[rank_] + step.place.cells + transport::extent(step.stored).cells,
                        0}))
            return false;
    }
    return run.cells_in_use == 0 || !run.call->in_place || released(run, step);
}

[[gnu::always_inline]] inline void Engine::publish(Run &run, const Step &step, transport::Cell &own,
                                                   std::uint64_t position,
                                                   transport::Location where) {
    own.where = where;
    transport::publish(own, run.signature + position);
    if (anybody_sleeps(signals_)) [[unlikely]]
        ring_readers(run, step);
}

// Where the payload of a step's own cell lies in this rank's rings.
[[gnu::always_inline]] inline transport::Location Engine::place_of(const Run &run,
                                                                   const Step &step) const {
    if (step.stored < transport::kLeastBulkBytes)
        return {};
    return {transport::Location::In::bulk,
            static_cast<std::int64_t>(((run.bulk_base + step.place.bulk) & ring_mask_) +
                                      transport::kCellHeaderBytes)};
}

// Runs a step; true if it is complete on return.
template<Engine::Mode mode>
[[gnu::always_inline]] inline bool Engine::execute(Run &run, const Step &step) {
    if (step.zero_copy_read != ZeroCopy::never && run.reads_in_place) { // as ready() has found
        publish_in_place(run, step);
        return true;
    }
    if (run.sends_in_place && step.publishes && send_in_place(run, step)) [[unlikely]]
        return true;
    if (step.local_copy && run.call->in_place)
        return true;
    using In = transport::Location::In;
    const StepOperand *operand = run.plan->operands.data() + step.first_operand;
    const void **ins = run.ins.data();
    bool elsewhere = false; // an operand is in another rank's own memory
    for (std::uint32_t k = 0; k < step.operands; ++k) {
        if (operand[k].space != Space::cell) {
            ins[k] = reinterpret_cast<const void *>(run.base[static_cast<int>(operand[k].space)] +
                                                    operand[k].offset);
            continue;
        }
        transport::Cell &header =
            cell(operand[k].rank, run.bases[operand[k].rank] + operand[k].offset);
        switch (header.where.in()) {
        case In::cell: ins[k] = header.payload(); break;
        case In::bulk: ins[k] = segment_->bulk(operand[k].rank) + header.where.offset(); break;
        case In::heap: ins[k] = segment_->heap(operand[k].rank) + header.where.offset(); break;
        case In::delivered: return true; // the publisher has stored it at this step's destination
        case In::owner:
        case In::device: elsewhere = true; break;
        }
    }

    void **outs = run.outs.data();
    int count = 0;
    std::uint32_t streaming = 0;
    if (step.has_result) {
        outs[count++] = reinterpret_cast<void *>(run.base[static_cast<int>(step.result_space)] +
                                                 step.result_offset);
        if (step.result_space == Space::output && run.plan->streams_output)
            streaming = 1;
    }
    transport::Cell *own = nullptr;
    std::uint64_t position = 0;
    bool to_cell = false;
    bool timed = false;
    std::uint64_t before = 0;
    transport::Location where;
    // In calls that only copy, all copies use the string instruction.  In calls that also reduce,
    // only long copies do (short ones took twice the time in some runs), and only while that is
    // faster than streaming.
    const bool long_enough = step.length >= StoreChoice::kLeastBytes;
    const bool reduces = run.plan->bytes_reduced != 0;
    const bool able = long_enough && strings_ && !run.plan->streams_output &&
                      (!reduces || step.length >= kLeastReducedStringBytes);
    using Way = StoreChoice::Way;
    Way way = Way::plain;
    if (mode != Mode::executor && long_enough)
        way = able && !reduces ? Way::strings : store_.favoured(able);
    if (step.publishes) {
        position = run.bases[rank_] + step.place.cells;
        own = &cell(rank_, position);
        if (step.length >= kLeastZeroCopyBytes && run.direct_outputs != 0) {
            where = In::delivered;
            if (streaming != 0)
                streaming = reduce::first_outputs(run.direct_outputs + 1);
            count += run.direct_outputs;
        } else {
            outs[count] = own->payload();
            where = place_of(run, step);
            if (where.in() == In::bulk)
                outs[count] = segment_->bulk(rank_) + where.offset();
            if (mode != Mode::executor && long_enough && (!able || reduces)) {
                if (step.operands == 1 && count == 0 && operand[0].space != Space::cell &&
                    store_.times(step.length)) {
                    before = now_ticks();
                    way = store_.way(before, able);
                    timed = way != Way::strings;
                }
                if (way == Way::streaming)
                    streaming |= 1u << count;
            }
            to_cell = true;
            ++count;
        }
    }

    const bool strings = way == Way::strings;
    if constexpr (mode == Mode::executor) {
        if (!issue(run, step, count, where))
            return false;
    } else if (elsewhere) [[unlikely]]
        work_attached(run, step, count, streaming);
    else if (step.operands == 1)
        (strings ? &reduce::copy_by_strings : copy_)(outs, count, ins, 1, step.length, streaming);
    else if (strings && to_cell && run.call->reduce != nullptr)
        reduce::pass_to_string(run.call->reduce, run.plan->element, outs, count, ins, step.operands,
                               step.length / run.plan->element);
    else if (run.call->reduce != nullptr) [[likely]]
        run.call->reduce(outs, count, ins, step.operands, step.length / run.plan->element,
                         streaming);
    else
        reduce_by_user(run, outs, count, ins, step.operands, step.length);
    if (timed)
        store_.saw(way, step.length, now_ticks() - before);

    if (step.publishes)
        publish(run, step, *own, position, where);
    return true;
}

} // namespace stretto::engine
