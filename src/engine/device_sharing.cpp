// SPDX-License-Identifier: BSD-3-Clause
// Zero copy in memory of a device: ranks of a host read one another's contributions there, and
// store results into one another's outputs there.  The same rules hold as for the shared heap
// (zero_copy_buffers.cpp), and as for a rank's own memory (attaching.cpp): a call ends only when
// others have read, so only in calls that no rank leaves before all have entered.
//
// No rank has to know what memory the others have.  A cell says where its payload is.  A rank gives
// a place in its memory only if all readers of the cell reach its device, in calls in which their
// buffers are there and in others.  A rank stores into an output if the reader's entry has a place.
#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "engine/engine.hpp"
#include "engine/executor.hpp"

namespace stretto::engine {

using transport::DevicePlace;
using transport::Location;

// Whether a rank reads and writes memory of another one's device.  The driver opens memory only of
// processes that it sees, so not that of another container.
static bool reaches_device(const transport::LineBlock &mine, const transport::LineBlock &its) {
    const std::uint64_t space = mine.pid_namespace.load(std::memory_order_relaxed);
    return space != 0 && space == its.pid_namespace.load(std::memory_order_relaxed) &&
           reaches(mine.shared_device, its.shared_device);
}

// The error of a rank that does not get at another one's memory.  The driver knows that a process
// has ended a moment before the kernel shows it.
static Error unreached(const transport::Segment &segment, int rank, const Error &error) {
    constexpr int kLooks = 100; // 1 ms apart
    for (int look = 0; look < kLooks; ++look) {
        if (segment.presence(rank) == transport::Presence::dead)
            return {Status::peer, error.what()};
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {error.status(),
            "it does not reach the memory of " + segment.names().of(rank) + ": " + error.what()};
}

// Gives the buffers of a call places that other ranks find, if an executor performs it.
void Engine::share_buffers(Run &run) {
    const Call &call = *run.call;
    if (call.execution->memory == MemoryKind::host || !run.plan->synchronizing ||
        run.plan->vector_bytes < kLeastKeptVectorBytes || withdrawn_ || !options_.shares_devices ||
        call.batch != nullptr || call.move_bytes != 0)
        return;
    const auto place = [&](const void *vector, const Call::Part &part,
                           std::optional<unsigned> kept) -> std::uint64_t {
        if (part.bytes == 0)
            return 0;
        const std::uint64_t first = call.execution->executor->share(
            mine_.shared_device, static_cast<const std::byte *>(vector) + part.first, part.bytes,
            completed_ == run.sequence, kept);
        return first == 0 ? 0 : first - part.first;
    };
    const bool mapped = call.pre_post != nullptr && call.pre_post->pre.map != nullptr;
    try {
        if (!mapped)
            run.input_place = place(call.input, call.input_part, std::nullopt);
        run.output_place =
            place(call.output, call.output_part,
                  run.input_place == 0 ? std::nullopt
                                       : std::optional(DevicePlace(run.input_place).slot()));
    } catch (const Error &error) {
        fail(error.status(), here(run) + ": " + error.what());
    }
}

// A call waits for a stream of the program: then the driver may answer a request only when this
// stream goes on, so this rank opens no memory of others from now on, and they open none of its.
void Engine::withdraw() {
    if (withdrawn_)
        return;
    withdrawn_ = true;
    mine_.shared_device.device.store(0, std::memory_order_release);
    for (std::atomic<std::uint32_t> &device : mine_.shared_device.reaches)
        device.store(0, std::memory_order_release);
}

// Whether the readers of a step read the contribution on the device.
bool Engine::read_on_device(const Run &run, const Step &step) const {
    if (run.input_place == 0 || step.length < kLeastZeroCopyBytes)
        return false;
    const StepReader *reader = run.plan->readers.data() + step.first_reader;
    return std::all_of(reader, reader + step.readers, [&](const StepReader &each) {
        return segment_->here(each.rank) && reaches_device(segment_->lines(each.rank), mine_);
    });
}

// Where this process finds bytes that another rank shares.  Null if this rank does not reach that
// device, or if the CPU performs its call.
void *Engine::on_device(const Run &run, int rank, std::uint64_t place) {
    const transport::LineBlock &its = segment_->lines(rank);
    const Execution *const by = run.call->execution;
    if (by == nullptr || by->memory == MemoryKind::host || !reaches_device(mine_, its))
        return nullptr;
    try {
        return by->executor->find_shared(mine_.shared_device, its.shared_device,
                                         DevicePlace(place));
    } catch (const Error &error) {
        fail_reading(run, rank, unreached(*segment_, rank, error));
    }
}

// The CPU performs this call, or the step: copies from there.
void Engine::take_from_device(const Run &run, int rank, std::uint64_t place, void *into,
                              std::size_t bytes) {
    try {
        Executor *const executor = executor_of(MemoryKind::cuda);
        if (executor == nullptr)
            throw Error(Status::internal, "nothing in this process copies from CUDA memory");
        executor->copy(into,
                       executor->find_shared(mine_.shared_device,
                                             segment_->lines(rank).shared_device,
                                             DevicePlace(place)),
                       bytes);
    } catch (const Error &error) {
        fail_reading(run, rank, unreached(*segment_, rank, error));
    }
}

} // namespace stretto::engine
