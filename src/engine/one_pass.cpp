// SPDX-License-Identifier: BSD-3-Clause
// A call as one pass over the buffers of all ranks, on a device that they share: the leader, which
// is the first rank, reads all contributions and writes all results (whole_call.hpp).  The steps of
// a plan would move as many bytes, but each costs the CPU more than the device needs for it, and if
// each rank launches its own, processes take turns (docs/gpu.md).
//
// It is decided anew in each call (transport/shm/one_pass.hpp), so ranks need not have the same
// memory.  A call that goes by steps begins when that is known.  So no rank leaves a call for which
// it has asked before all have entered, also where the steps would let it.
//
// The plan's cells stay empty, and progress passes all steps at once.
#include <memory>
#include <optional>

#include "engine/engine.hpp"
#include "engine/executor.hpp"
#include "engine/leading.hpp"

namespace stretto::engine {

using transport::OnePassAnswer;
using transport::OnePassWords;
using transport::SharedBuffers;
using transport::SharedDevice;

// Called before the call is announced.
void Engine::ask_for_one_pass(Run &run) {
    const Call &call = *run.call;
    const auto found = [](const Call::Part &part, std::uint64_t place) {
        return part.bytes == 0 || place != 0;
    };
    if (!may_be_one_pass(call) || !found(call.input_part, run.input_place) ||
        !found(call.output_part, run.output_place))
        return;
    const auto *const mine =
        call.output_part.bytes != 0
            ? static_cast<const std::byte *>(call.output) + call.output_part.first
            : static_cast<const std::byte *>(call.input) + call.input_part.first;
    const Execution &by = *call.execution;
    if (!by.executor->performs_there(mine, by.kernel, by.whole->then(), by.whole->most_buffers()))
        return;
    if (rank_ == kLeaderRank) {
        if (run.leading == nullptr)
            run.leading = std::make_unique<Leading>();
        run.leading->make_room(*by.whole, segment_->ranks());
    }
    if (!devices_[rank_].one_pass.ask(run.sequence))
        return; // very many calls are in flight
    run.one_pass = OnePass::asked;
    ++unheard_;
}

// True if the call goes by steps from here on, or has ended.
bool Engine::decided(Run &run) {
    if (rank_ == kLeaderRank)
        return decided_as_leader(run);
    const SharedDevice &leader = devices_[kLeaderRank];
    // The leader answers before it frees its place.
    const bool entered = has_entered(kLeaderRank, run.sequence);
    const bool asks = leader.one_pass.question(run.sequence) == OnePassWords::Question::this_call;
    switch (leader.one_pass.answer(run.sequence)) {
    case OnePassAnswer::done: hear(run, OnePass::done); return true;
    case OnePassAnswer::none:
        if (asks || !entered)
            return false;
        [[fallthrough]];
    case OnePassAnswer::by_steps: go_by_steps(run); return true;
    }
    return false;
}

bool Engine::decided_as_leader(Run &run) {
    OnePassWords &words = devices_[rank_].one_pass;
    if (run.one_pass == OnePass::asked) {
        const std::optional<bool> all = all_ask(run);
        if (!all)
            return false;
        if (!*all || !find_all(run) || !begin_one_pass(run)) {
            words.answer(run.sequence, OnePassAnswer::by_steps);
            go_by_steps(run);
            return true;
        }
    }
    run.call->execution->executor->poll();
    if (run.leading->end.pending())
        return false;
    end_one_pass(run);
    if (const std::optional<Error> &why = run.leading->end.error())
        fail(why->status(), "the pass of " + here(run) + " failed: " + why->what());
    if (recorder_ != nullptr)
        trace_one_pass(run);
    words.answer(run.sequence, OnePassAnswer::done);
    hear(run, OnePass::done);
    return true;
}

// What a rank asks for is in its place before it enters.
bool Engine::has_entered(int rank, std::uint64_t sequence) const {
    return segment_->lines(rank).entries[sequence % transport::kEntries].sequence.load(
               std::memory_order_acquire) > sequence;
}

// Whether all ranks ask for one pass; nothing: some have not come so far, or have to hear an answer
// of which the place is wanted.
std::optional<bool> Engine::all_ask(const Run &run) const {
    bool all = true, here = true; // the second: the streams of all have come to the call
    for (int rank = 0; rank < segment_->ranks(); ++rank) {
        if (!has_entered(rank, run.sequence))
            return std::nullopt;
        switch (devices_[rank].one_pass.question(run.sequence)) {
        case OnePassWords::Question::older_call: return std::nullopt;
        case OnePassWords::Question::none:
        case OnePassWords::Question::newer_call: all = false; break;
        case OnePassWords::Question::this_call:
            here = here && shared_buffers(run, rank).has_value();
        }
    }
    return all && !here ? std::nullopt : std::optional(all);
}

// Finds the buffers of all ranks; false if some are not open here, or not on this rank's device.
// Memory that others have listed for this call is opened now, if the driver may be asked.
bool Engine::find_all(Run &run) {
    if (find_buffers(run))
        return true;
    if (signals_.listings.load(std::memory_order_acquire) ==
        devices_[rank_].opened.load(std::memory_order_relaxed))
        return false;
    try {
        run.call->execution->executor->open_shared();
    } catch (const Error &error) {
        fail(error.status(), here(run) + ": " + error.what());
    }
    return find_buffers(run);
}

bool Engine::find_buffers(Run &run) {
    const WholeCall &whole = *run.call->execution->whole;
    const std::uint32_t device = devices_[rank_].device.load(std::memory_order_relaxed);
    Leading &leading = *run.leading;
    for (int rank = 0; rank < segment_->ranks(); ++rank) {
        const auto k = static_cast<std::size_t>(rank);
        if (rank == rank_) {
            leading.inputs[k] = static_cast<const std::byte *>(run.call->input);
            leading.outputs[k] = static_cast<std::byte *>(run.call->output);
            continue;
        }
        if (devices_[rank].device.load(std::memory_order_acquire) != device)
            return false;
        const SharedBuffers::Places places =
            shared_buffers(run, rank).value_or(SharedBuffers::Places{});
        const auto find = [&](bool needed, std::uint64_t place) {
            return needed ? static_cast<std::byte *>(on_device(run, rank, place)) : nullptr;
        };
        const WholeCall::Ends &ends = whole.ends(rank);
        leading.inputs[k] = find(ends.in.has_value(), places.input);
        leading.outputs[k] = find(ends.out.has_value(), places.output);
        if ((ends.in && leading.inputs[k] == nullptr) ||
            (ends.out && leading.outputs[k] == nullptr))
            return false;
    }
    return true;
}

// False if the executor refuses it, since one kernel does not reach all the buffers.  It touches
// memory of other ranks.  After a failure these wait for the passes that they see (left_alone()),
// as for those of steps (issue()).
bool Engine::begin_one_pass(Run &run) {
    const Execution &by = *run.call->execution;
    Executor &executor = *by.executor;
    Leading &leading = *run.leading;
    leading.list_passes(*by.whole, static_cast<std::size_t>(segment_->ranks()));
    mine_.passes.store(issued_ + 1, std::memory_order_seq_cst);
    leading.end.arm();
    leading.began = recorder_ != nullptr ? recorder_->step_begins() : 0;
    Executor::Issued issued = Executor::Issued::refused;
    try {
        if (signals_.failed.load(std::memory_order_seq_cst) != 0)
            interrupt(run);
        issued = executor.issue_all(
            {leading.passes(), leading.buffers(), by.kernel, by.whole->then()}, leading.end);
    } catch (...) {
        leading.end.complete();
        mine_.passes.store(issued_, std::memory_order_release);
        throw;
    }
    if (issued != Executor::Issued::pending)
        leading.end.complete();
    if (issued == Executor::Issued::refused) {
        mine_.passes.store(issued_, std::memory_order_release);
        return false;
    }
    run.one_pass = OnePass::under_way;
    count_issued(executor);
    return true;
}

// The device touches no buffer any more.
void Engine::end_one_pass(Run &run) {
    run.one_pass = OnePass::asked;
    count_ended();
}

void Engine::go_by_steps(Run &run) {
    hear(run, OnePass::no);
    take_memory(run);
}

// This rank has the answer.
void Engine::hear(Run &run, OnePass what) {
    devices_[rank_].one_pass.hear(run.sequence);
    run.one_pass = what;
    --unheard_;
    if (what == OnePass::done)
        run.next = static_cast<std::uint32_t>(run.plan->steps.size());
}

// The rank for which this one waits, before it has begun with the steps.
int Engine::awaited_before_steps(const Run &run) const {
    if (run.one_pass == OnePass::under_way)
        return transport::WaitState::kItselfRank;
    for (int rank = 0; rank < segment_->ranks(); ++rank)
        if (!has_entered(rank, run.sequence))
            return rank;
    if (rank_ != kLeaderRank)
        return kLeaderRank;
    for (int rank = 0; rank < segment_->ranks(); ++rank) {
        using Question = OnePassWords::Question;
        const Question question = devices_[rank].one_pass.question(run.sequence);
        if (question == Question::older_call ||
            (question == Question::this_call && !shared_buffers(run, rank)))
            return rank;
    }
    return transport::WaitState::kItselfRank;
}

// The call is abandoned.
void Engine::drop_one_pass(Run &run) {
    if (!run.undecided())
        return;
    if (run.one_pass == OnePass::under_way) {
        run.call->execution->executor->wait(run.leading->end);
        end_one_pass(run);
    }
    run.one_pass = OnePass::no;
    --unheard_;
}

// The same without a wait: false if the pass is under way still.
bool Engine::one_pass_dropped(Run &run) {
    if (run.one_pass == OnePass::under_way) {
        run.call->execution->executor->poll();
        if (run.leading->end.pending())
            return false;
    }
    drop_one_pass(run);
    return true;
}

} // namespace stretto::engine
