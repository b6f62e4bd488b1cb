// SPDX-License-Identifier: BSD-3-Clause
// Steps that an executor performs: issued, and complete when it says so.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/engine.hpp"
#include "engine/issued.hpp"
#include "engine/pass_delegation.hpp"
#include "engine/step.inl"

namespace stretto::engine {

// Passes copy to and from the memory of the communicator.
void Engine::show_memory(Executor &executor) {
    if (std::ranges::find(memory_users_, &executor) != memory_users_.end())
        return;
    memory_users_.reserve(memory_users_.size() + 1);
    segment_->add_memory_user(executor);
    memory_users_.push_back(&executor);
}

// Room that a run needs for its executor, made before the call is announced.
void Engine::expect_executor(Run &run) {
    if (bell_ == nullptr)
        bell_ = std::make_shared<Bell>(segment_, rank_);
    show_memory(*run.call->execution->executor);
    const bool signals = run.call->execution->executor->longest_nap() == Executor::kNoPolling;
    if (run.issued == nullptr || run.issued->signals() != signals)
        run.issued = std::make_unique<IssuedSteps>(signals ? bell_ : nullptr);
    if (run.tiles_left != 0)
        expect_executor(*run.following);
}

// Copies between the buffers of a call and host memory.
void Engine::copy_bytes(const Run &run, void *to, const void *from, std::size_t bytes) {
    const Execution *const by = run.call->execution;
    if (by == nullptr || by->memory == MemoryKind::host) {
        std::memcpy(to, from, bytes);
        return;
    }
    try {
        by->executor->copy(to, from, bytes);
    } catch (const Error &error) {
        fail(error.status(), "a copy of " + here(run) + " failed: " + error.what());
    }
}

// The CPU runs the caller's own operations, in host memory: operands and the result are copied.
void Engine::reduce_by_user_elsewhere(Run &run, const Step &step, int outs,
                                      std::vector<std::byte> &memory) {
    const auto place = [&](std::uint32_t k) {
        return memory.data() + std::size_t{k} * step.length;
    };
    for (std::uint32_t k = 0; k < step.operands; ++k)
        if (run.ins[k] != place(k)) { // else take_all() has read it there
            copy_bytes(run, place(k), run.ins[k], step.length);
            run.ins[k] = place(k);
        }
    void *result = place(step.operands);
    reduce_by_user(run, &result, 1, run.ins.data(), step.operands, step.length);
    for (int out = 0; out < outs; ++out)
        copy_bytes(run, run.outs[static_cast<std::size_t>(out)], result, step.length);
}

// Begins to read the operands of a step that waits only for cells of other ranks: its own
// predecessors are complete, so nothing writes there before it runs.
void Engine::prefetch(Run &run, std::uint32_t index) {
    const Step &step = run.plan->steps[index];
    // Perhaps a kernel reads them where they are, with those of all ranks.
    if (run.attached && signals_.listings.load(std::memory_order_relaxed) ==
                            devices_[rank_].opened.load(std::memory_order_relaxed))
        return;
    if (step.operands < 2 || run.call->reduce == nullptr || !run.issued->may_prefetch(index))
        return;
    std::vector<std::unique_ptr<Prefetch>> &prefetches = run.issued->add_prefetches(index);
    prefetches.resize(step.operands);
    const StepOperand *operand = run.plan->operands.data() + step.first_operand;
    for (std::uint32_t k = 0; k < step.operands; ++k)
        if (operand[k].space != Space::cell)
            prefetches[k] = run.call->execution->executor->prefetch(
                reinterpret_cast<const void *>(run.base[static_cast<int>(operand[k].space)] +
                                               operand[k].offset),
                step.length);
}

// Performs a step, or gives it to the executor; true if it is complete on return.  It may touch
// memory of other ranks.  After a failure these wait for the passes that they see (left_alone());
// so a pass is announced first, and none begins once the communicator has failed.
bool Engine::issue(Run &run, const Step &step, int outs, transport::Location where) {
    std::atomic<std::uint32_t> &passes = mine_.passes;
    passes.store(issued_ + 1, std::memory_order_seq_cst);
    bool complete = false;
    try {
        if (signals_.failed.load(std::memory_order_seq_cst) != 0)
            interrupt(run);
        complete = issue_pass(run, step, outs, where);
    } catch (...) {
        passes.store(issued_, std::memory_order_release);
        throw;
    }
    passes.store(issued_, std::memory_order_release);
    return complete;
}

bool Engine::issue_pass(Run &run, const Step &step, int outs, transport::Location where) {
    const auto index = static_cast<std::uint32_t>(&step - run.plan->steps.data());
    IssuedSteps::Slot &slot = run.issued->place_of(index);
    const Execution &by = *run.call->execution;
    const bool by_user = step.operands > 1 && run.call->reduce == nullptr;
    if (delegation_ != nullptr && !by_user && delegate_pass(run, step, slot, where))
        return false;
    if (by_user)
        make_room(run, slot.operands, (std::size_t{step.operands} + 1) * step.length);
    take_all(run, step, slot.operands);
    if (by_user && by.memory == MemoryKind::host) {
        reduce_by_user(run, run.outs.data(), outs, run.ins.data(), step.operands, step.length);
        return true;
    }
    if (by_user) {
        reduce_by_user_elsewhere(run, step, outs, slot.operands);
        return true;
    }
    slot.where = where;
    slot.began = recorder_ != nullptr ? recorder_->step_begins() : 0;
    slot.completion.arm();
    const Work work{.outs = {run.outs.data(), static_cast<std::size_t>(outs)},
                    .ins = {run.ins.data(), step.operands},
                    .bytes = step.length,
                    .kernel = by.kernel,
                    .prefetches = slot.prefetched == index ? std::span(slot.prefetches)
                                                           : std::span<std::unique_ptr<Prefetch>>(),
                    .may_gather = true};
    const Executor::Issued issued = by.executor->issue(work, slot.completion);
    run.issued->drop_prefetches(slot);
    if (issued == Executor::Issued::pending) {
        add_issued(run, slot);
        return false;
    }
    if (recorder_ != nullptr)
        trace_step(run, step, slot.began);
    return true;
}

void Engine::add_issued(Run &run, const IssuedSteps::Slot &slot) {
    run.issued->add(slot);
    count_issued(*run.call->execution->executor);
}

// An issued step that has ended.
void Engine::forget_issued(Run &run, std::uint32_t step) {
    run.issued->remove(step);
    count_ended();
}

// An executor has taken a step, or the pass of a call.
void Engine::count_issued(const Executor &executor) {
    const std::uint64_t nap_ns = executor.longest_nap();
    nap_ns_ = ++issued_ == 1 ? nap_ns : std::min(nap_ns_, nap_ns);
}

void Engine::count_ended() {
    if (--issued_ == 0)
        nap_ns_ = transport::kNoNap;
    mine_.passes.store(issued_, std::memory_order_release);
}

// Completes the issued steps that have ended.
void Engine::collect(Run &run) {
    if (run.tiles_left != 0)
        collect(*run.following);
    if (delegation_ != nullptr)
        delegation_->report();
    if (run.issued->none())
        return;
    run.call->execution->executor->poll();
    run.issued->each([&](IssuedSteps::Slot &slot) {
        if (slot.delegation != IssuedSteps::kNoDelegation && !look_at_delegated(run, slot))
            return;
        if (slot.completion.pending())
            return;
        const Step &step = run.plan->steps[slot.step];
        forget_issued(run, slot.step);
        if (const std::optional<Error> &why = slot.completion.error())
            fail(why->status(), "a copy or reduction of " + here(run) + " failed: " + why->what());
        const std::uint64_t position = run.bases[rank_] + step.place.cells;
        if (step.publishes)
            publish(run, step, cell(rank_, position), position, slot.where);
        run.done[slot.step / 64] |= 1ull << (slot.step % 64);
        ++run.ahead;
        if (recorder_ != nullptr)
            trace_step(run, step, slot.began);
    });
}

// The call is abandoned: when this returns, no executor touches its memory.
void Engine::drain(Run &run) {
    forget_gate(run);
    settle_delegated();
    drop_one_pass(run);
    if (run.tiles_left != 0)
        drain(*run.following);
    if (run.issued == nullptr)
        return;
    run.issued->drop_prefetches();
    run.issued->each([&](IssuedSteps::Slot &slot) {
        if (slot.delegation != IssuedSteps::kNoDelegation)
            delegation_->withdraw_and_wait(
                std::exchange(slot.delegation, IssuedSteps::kNoDelegation));
        else if (slot.completion.pending())
            run.call->execution->executor->wait(slot.completion);
        forget_issued(run, slot.step);
    });
}

bool Engine::drained(Run &run) {
    forget_gate(run);
    if (delegation_ != nullptr)
        delegation_->report();
    if (!one_pass_dropped(run))
        return false;
    const bool rest = (run.tiles_left == 0 || drained(*run.following)) && launching() == 0;
    if (run.issued == nullptr)
        return rest;
    if (!run.issued->none())
        run.call->execution->executor->poll();
    run.issued->each([&](IssuedSteps::Slot &slot) {
        if (slot.delegation == IssuedSteps::kNoDelegation ? slot.completion.pending()
                                                          : !delegation_->withdraw(slot.delegation))
            return;
        slot.delegation = IssuedSteps::kNoDelegation;
        forget_issued(run, slot.step);
    });
    return run.issued->drop_complete_prefetches() && run.issued->none() && rest;
}

} // namespace stretto::engine
