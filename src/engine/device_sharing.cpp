// SPDX-License-Identifier: BSD-3-Clause
// Zero copy in memory of a device: ranks of a host read one another's contributions there, and
// store results into one another's outputs there.  The same rules hold as for the shared heap
// (zero_copy_buffers.cpp), and as for a rank's own memory (attaching.cpp): a call ends only when
// others have read, so only in calls that no rank leaves before all have entered.
//
// No rank has to know what memory the others have.  A cell says where its payload is.  A rank gives
// a place in its memory only if all readers of the cell have that memory open, in calls in which
// their buffers are on a device and in others.  A rank stores into an output if it has it open, and
// its owner has published the place.  All else takes the pipeline.
//
// Memory is listed and opened when a call begins (shared_device.hpp): one that a stream orders,
// before its stream waits.  So the driver is asked for nothing while a stream waits for a call.  A
// reader that may not ask it in this call opens the memory in a later one.
#include <algorithm>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "engine/engine.hpp"
#include "engine/executor.hpp"

namespace stretto::engine {

using transport::DevicePlace;
using transport::Location;
using transport::SharedBuffers;

// Whether a rank of this host reads and writes memory of another one's device.
bool Engine::reaches_device(int reader, int owner) const {
    return devices_ != nullptr && same_processes(segment_->lines(reader), segment_->lines(owner)) &&
           reaches(devices_[reader], devices_[owner]);
}

static SharedBuffers &buffers_of(transport::SharedDevice &device, const Run &run) {
    return device.buffers[run.sequence % transport::SharedDevice::kCalls];
}

std::optional<SharedBuffers::Places> Engine::shared_buffers(const Run &run, int rank) const {
    return buffers_of(devices_[rank], run).of(run.signature);
}

// The lists of this rank's host, from the first call on that has an executor.
SharedLists &Engine::shared_lists(Executor &executor) {
    if (lists_ != nullptr)
        return *lists_;
    devices_ = segment_->open_shared_devices();
    lists_ = std::make_unique<SharedLists>(
        SharedLists{rank_, devices_[rank_], {}, segment_->header().signals.listings});
    for (int rank = 0; rank < segment_->ranks(); ++rank)
        if (rank != rank_ && segment_->here(rank) && same_processes(mine_, segment_->lines(rank)))
            lists_->others.push_back(&devices_[rank]);
    executor.watch_lists(*lists_);
    sharer_ = &executor;
    const bool one = options_.launches != Launches::one_process || executor.takes_turns();
    delegation_ = std::make_unique<PassDelegation>(*segment_, rank_, devices_, executor,
                                                   one ? options_.launches : Launches::own);
    return *lists_;
}

void Engine::forget_lists() noexcept {
    delegation_.reset();
    if (sharer_ != nullptr)
        sharer_->forget_lists(*lists_);
}

// Whether ranks read and write one another's buffers in the steps of a call.
static bool shares_in_steps(const Call &call) {
    return call.plan->synchronizing && call.plan->vector_bytes >= kLeastKeptVectorBytes &&
           call.move_bytes == 0;
}

// Gives the buffers of a call, which has this number, places that other ranks find, if an executor
// performs it.  Throws Error.
void Engine::share_buffers(Run &run, const Call &call, std::uint64_t sequence) {
    run.input_place = run.output_place = 0;
    run.steps_share = shares_in_steps(call);
    if (call.execution == nullptr || call.execution->memory == MemoryKind::host ||
        (!run.steps_share && !may_be_one_pass(call)) || !options_.shares_devices ||
        call.batch != nullptr)
        return;
    Executor &executor = *call.execution->executor;
    const bool idle = completed_ == sequence;
    const auto place = [&](const void *vector, const Call::Part &part,
                           std::optional<unsigned> kept) -> std::uint64_t {
        if (part.bytes == 0)
            return 0;
        const std::uint64_t first = executor.share(
            shared_lists(executor), static_cast<const std::byte *>(vector) + part.first, part.bytes,
            idle, kept);
        return first == 0 ? 0 : first - part.first;
    };
    const bool mapped = call.pre_post != nullptr && call.pre_post->pre.map != nullptr;
    if (!mapped)
        run.input_place = place(call.input, call.input_part, std::nullopt);
    run.output_place = place(
        call.output, call.output_part,
        run.input_place == 0 ? std::nullopt : std::optional(DevicePlace(run.input_place).slot()));
}

// The same for a call that begins at once, and opens what others have listed.
void Engine::share_memory(Run &run) {
    try {
        share_buffers(run, *run.call, run.sequence);
        if (sharer_ != nullptr && signals_.listings.load(std::memory_order_relaxed) !=
                                      devices_[rank_].opened.load(std::memory_order_relaxed))
            sharer_->open_shared();
    } catch (const Error &error) {
        fail(error.status(), here(run) + ": " + error.what());
    }
}

// The same for a call that is ordered by a stream, which does not wait yet; for all communicators.
void Engine::share_before_waiting(Run &run, Executor *executor) {
    share_buffers(run, run.kept, sequence_);
    if (executor != nullptr)
        executor->open_shared();
}

// From here on other ranks may store into the output.  Those of another call stay where they are as
// long as the leader may look for them.
void Engine::open_buffers(const Run &run) {
    using Question = transport::OnePassWords::Question;
    if ((run.input_place | run.output_place) == 0)
        return;
    const Question question = devices_[rank_].one_pass.question(run.sequence);
    if (question == Question::none || question == Question::this_call)
        buffers_of(devices_[rank_], run)
            .open(run.signature,
                  {run.output_place, run.input_place, run.call->in_place, run.steps_share});
}

// Where a rank's output is on a device, if a step may write it.
std::uint64_t Engine::shared_output(const Run &run, int rank, const Step &step) {
    if (devices_ == nullptr || run.call->execution == nullptr || !segment_->here(rank))
        return 0;
    const std::optional<SharedBuffers::Places> places = shared_buffers(run, rank);
    const bool may_write = places && places->steps_share &&
                           (!places->in_place || step.zero_copy_write == ZeroCopy::always);
    return may_write ? places->output : 0;
}

// Whether the readers of a step read the contribution on the device.
bool Engine::read_on_device(const Run &run, const Step &step) {
    if (run.input_place == 0 || step.length < kLeastZeroCopyBytes)
        return false;
    const transport::SharedSlot &slot =
        devices_[rank_].allocations[DevicePlace(run.input_place).slot()];
    const StepReader *reader = run.plan->readers.data() + step.first_reader;
    if (!std::all_of(reader, reader + step.readers, [&](const StepReader &each) {
            return segment_->here(each.rank) && reaches_device(each.rank, rank_) &&
                   devices_[each.rank].opened.load(std::memory_order_acquire) >= slot.number();
        }))
        return false;
    if (const transport::Refusal why = slot.refusal(); why.error != 0) {
        const Error error = run.call->execution->executor->refused(why.error);
        fail(error.status(), here(run) + ": " + segment_->names().of(why.rank) +
                                 " does not reach the memory of " + segment_->names().of(rank_) +
                                 ": " + error.what());
    }
    return true;
}

// Where this process finds bytes that another rank shares.  Null if this rank does not reach that
// device or has not opened the memory, or if the CPU performs its call.
void *Engine::on_device(const Run &run, int rank, std::uint64_t place) {
    const Execution *const by = run.call->execution;
    if (by == nullptr || by->memory == MemoryKind::host || !reaches_device(rank_, rank))
        return nullptr;
    try {
        return by->executor->find_shared(devices_[rank_], devices_[rank], DevicePlace(place));
    } catch (const Error &error) {
        fail_reading(run, rank, error);
    }
}

// The failure is posted, so another rank begins no pass that is not seen here.
bool Engine::left_alone() const {
    if (lists_ == nullptr || signals_.failed.load(std::memory_order_seq_cst) == 0)
        return true;
    for (int rank = 0; rank < segment_->ranks(); ++rank) {
        if (rank != rank_ && segment_->here(rank) && reaches_device(rank, rank_) &&
            (segment_->lines(rank).passes.load(std::memory_order_seq_cst) != 0 ||
             devices_[rank].delegations.launching.load(std::memory_order_seq_cst) != 0) &&
            segment_->presence(rank) != transport::Presence::dead)
            return false;
    }
    return true;
}

void Engine::await_peers() const {
    for (const std::uint64_t since = now_ns(); !left_alone() && now_ns() - since < kStuckNs;)
        std::this_thread::sleep_for(kDeviceNap);
}

// The CPU performs this call, or the step: copies from there.
void Engine::take_from_device(const Run &run, int rank, std::uint64_t place, void *into,
                              std::size_t bytes) {
    try {
        if (sharer_ == nullptr)
            throw Error(Status::internal, "nothing in this process copies from CUDA memory");
        const void *const from =
            sharer_->find_shared(devices_[rank_], devices_[rank], DevicePlace(place));
        if (from == nullptr)
            throw Error(Status::unsupported,
                        "the memory of " + segment_->names().of(rank) +
                            " is not open any more: it was opened in a CUDA context that is gone, "
                            "while a stream of the program waits for another call; let calls end "
                            "before their context is destroyed");
        sharer_->copy(into, from, bytes);
    } catch (const Error &error) {
        fail_reading(run, rank, error);
    }
}

} // namespace stretto::engine
