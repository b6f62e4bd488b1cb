// SPDX-License-Identifier: BSD-3-Clause
// Zero copy: readers read a contribution in place, in the shared heap or in this rank's own memory
// (attaching.cpp), or on a device (device_sharing.cpp).  A rank stores results directly into its
// readers' outputs, if these are in the heap or on a device.  Contributions go to other hosts
// straight from the caller's buffer, if devices read there.
#include <algorithm>

#include "engine/engine.hpp"
#include "engine/step.inl"
#include "transport/remote/remote_peers.hpp"

namespace stretto::engine {

using transport::Extent;
using transport::Location;

// Whether a payload has room, or need not be stored, so that it needs no bulk.
bool Engine::storable(Run &run, const Step &step) {
    const Extent size = transport::extent(step.stored);
    Extent end{run.bases[rank_] + step.place.cells + size.cells, 0};
    run.direct_outputs = step.has_result && step.zero_copy_write != ZeroCopy::never
                             ? collect_outputs(run, step, run.outs.data() + 1)
                             : 0;
    run.reads_in_place = read_in_place(run, step);
    if (size.bulk != 0 && run.direct_outputs == 0 && !run.reads_in_place)
        end.bulk = run.bulk_base + step.place.bulk + size.bulk;
    return stream_.room(end);
}

// A contribution that readers read in place is not copied: the cell gives its place.
void Engine::publish_in_place(Run &run, const Step &step) {
    const StepOperand &operand = run.plan->operands[step.first_operand];
    const std::uint64_t position = run.bases[rank_] + step.place.cells;
    run.in_place_cells[static_cast<std::size_t>(&step - run.plan->steps.data())] = 1;
    ++run.cells_in_use;
    const bool heap = run.call->input_heap != 0;
    publish(
        run, step, cell(rank_, position), position,
        heap ? Location{Location::In::heap, static_cast<std::int64_t>(run.call->input_heap - 1 +
                                                                      operand.offset + run.shift)}
        : run.input_place != 0
            ? Location{Location::In::device,
                       static_cast<std::int64_t>(run.input_place + operand.offset + run.shift)}
            : Location{Location::In::owner,
                       static_cast<std::int64_t>(run.base[static_cast<int>(operand.space)] +
                                                 operand.offset)});
}

// Whether contributions may be sent to other hosts from the caller's buffer.  The call ends only
// when their readers have taken them, so only calls that no rank can leave before all have entered.
bool Engine::sends_in_place(const Call &call) const {
    const transport::RemotePeers *const remote_peers = segment_->remote_peers();
    return remote_peers != nullptr && remote_peers->sends_buffers() && call.plan->synchronizing &&
           call.execution == nullptr;
}

// A contribution that is sent straight from the caller's buffer, in place of a copy in a cell.  The
// cell takes its room all the same: in the mirrors of the readers, the payload lies there.
bool Engine::send_in_place(Run &run, const Step &step) {
    if (step.zero_copy_read == ZeroCopy::never ||
        (step.zero_copy_read != ZeroCopy::always && run.call->in_place))
        return false;
    const std::byte *const payload = contribution_of(run, step);
    const StepReader *const reader = run.plan->readers.data() + step.first_reader;
    if (!std::all_of(reader, reader + step.readers, [&](const StepReader &each) {
            return !segment_->here(each.rank) &&
                   segment_->remote_peers()->sends_from(each.rank, payload, step.length);
        }))
        return false;
    const std::uint64_t position = run.bases[rank_] + step.place.cells;
    run.in_place_cells[static_cast<std::size_t>(&step - run.plan->steps.data())] = 1;
    ++run.cells_in_use;
    publish(run, step, cell(rank_, position), position, place_of(run, step));
    return true;
}

// The outputs of all readers, if each is in the shared heap or on a device that this rank reaches,
// and may be written; otherwise nothing.  A reader publishes the place of its output when it
// enters.
int Engine::collect_outputs(const Run &run, const Step &step, void **outs) {
    const StepReader *reader = run.plan->readers.data() + step.first_reader;
    for (std::uint32_t r = 0; r < step.readers; ++r) {
        if (const std::uint64_t place = shared_output(run, reader[r].rank, step)) {
            outs[r] = on_device(run, reader[r].rank, place + reader[r].result_offset + run.shift);
            if (outs[r] == nullptr)
                return 0;
            continue;
        }
        const std::optional<transport::Entered> its = transport::entered(
            segment_->lines(reader[r].rank).entries[run.sequence % transport::kEntries]);
        // The reader may not have entered yet, or may have entered so many later calls that its
        // entry is gone.
        if (!its || its->sequence != run.sequence + 1 || its->signature != run.signature ||
            its->output_heap == 0 || (its->in_place && step.zero_copy_write != ZeroCopy::always))
            return 0;
        outs[r] = segment_->heap(reader[r].rank) +
                  (its->output_heap - 1 + reader[r].result_offset + run.shift);
    }
    return static_cast<int>(step.readers);
}

// In place, a result overwrites a contribution: ranks that read it in this rank's memory must be
// done.
bool Engine::released(const Run &run, const Step &step) const {
    if (!step.has_result || step.result_space != Space::output)
        return true;
    const std::uint32_t *before = run.plan->before.data() + step.first_before;
    for (std::uint32_t k = 0; k < step.predecessors; ++k)
        if (run.in_place_cells[before[k]] != 0 &&
            !stream_.given_back(*run.plan, before_tile(run), run.plan->steps[before[k]]))
            return false;
    return true;
}

} // namespace stretto::engine
