// SPDX-License-Identifier: BSD-3-Clause
// The records that the engine writes to the trace.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/engine.hpp"
#include "engine/leading.hpp"
#include "transport/shm/wait_state.hpp"

namespace stretto::engine {

void Engine::trace_begin(const Run &run) {
    recorder_->call_begins({segment_->number_of(run.sequence), run.call->descriptor.packed,
                            run.call->descriptor.count, run.plan->vector_bytes, run.plan->algorithm,
                            run.plan->synchronizing});
}

void Engine::trace_step(const Run &run, const Step &step, std::uint64_t begin) {
    trace::Recorder::Ranks sources, readers;
    for (std::uint32_t k = 0; k < step.operands; ++k)
        if (const StepOperand &operand = run.plan->operands[step.first_operand + k];
            operand.space == Space::cell)
            sources.add(operand.rank);
    for (std::uint32_t r = 0; r < step.readers; ++r)
        readers.add(run.plan->readers[step.first_reader + r].rank);
    recorder_->step_ends(
        begin,
        {segment_->number_of(run.sequence),
         steps_before(run) + static_cast<std::uint32_t>(&step - run.plan->steps.data()),
         step.length, step.operands, step.has_result, step.publishes},
        sources, readers);
}

// A step from all ranks to all.
void Engine::trace_one_pass(const Run &run) {
    trace::Recorder::Ranks all;
    for (int rank = 0; rank < segment_->ranks(); ++rank)
        all.add(rank);
    const bool reduces = run.call->execution->kernel.reduces;
    constexpr std::size_t kMostBytes = std::numeric_limits<std::uint32_t>::max(); // of a record
    recorder_->step_ends(run.leading->began,
                         {segment_->number_of(run.sequence), 0,
                          static_cast<std::uint32_t>(std::min(run.plan->vector_bytes, kMostBytes)),
                          reduces ? static_cast<std::uint32_t>(segment_->ranks()) : 1, true, true},
                         all, all);
}

// Of several calls in flight, the oldest counts: the others wait for it as well.
void Engine::trace_wait(const Run &run) {
    if (run.sequence != oldest_)
        return;
    const int rank = awaited(run);
    recorder_->waits(segment_->number_of(run.sequence), steps_before(run) + run.next,
                     rank == transport::WaitState::kItselfRank ? rank_ : rank);
}

} // namespace stretto::engine
