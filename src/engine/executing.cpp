// SPDX-License-Identifier: BSD-3-Clause
// Steps that an executor performs: issued, and complete when it says so.
#include <algorithm>

#include "engine/engine.hpp"
#include "engine/issued.hpp"
#include "engine/step.inl"

namespace stretto::engine {

// Room that a run needs for its executor, made before the call is announced.
void Engine::expect_executor(Run &run) {
    if (bell_ == nullptr)
        bell_ = std::make_shared<Bell>(segment_, rank_);
    const bool signals = run.call->execution->executor->longest_nap() == Executor::kNoPolling;
    if (run.issued == nullptr || run.issued->signals() != signals)
        run.issued = std::make_unique<IssuedSteps>(signals ? bell_ : nullptr);
    if (run.tiles_left != 0)
        expect_executor(*run.following);
}

// Gives the pass of a step to the executor; true if it is complete on return.  The CPU runs the
// caller's own operations.
bool Engine::issue(Run &run, const Step &step, int outs, transport::Location where) {
    const auto index = static_cast<std::uint32_t>(&step - run.plan->steps.data());
    IssuedSteps::Slot &slot = run.issued->place_of(index);
    take_all(run, step, slot.operands);
    if (step.operands > 1 && run.call->reduce == nullptr) {
        reduce_by_user(run, run.outs.data(), outs, run.ins.data(), step.operands, step.length);
        return true;
    }
    slot.where = where;
    slot.began = recorder_ != nullptr ? recorder_->step_begins() : 0;
    slot.completion.arm();
    const Execution &by = *run.call->execution;
    const Work work{{run.outs.data(), static_cast<std::size_t>(outs)},
                    {run.ins.data(), step.operands},
                    step.length,
                    by.kernel};
    if (by.executor->issue(work, slot.completion) == Executor::Issued::pending) {
        run.issued->add(slot);
        nap_ns_ = ++issued_ == 1 ? by.executor->longest_nap()
                                 : std::min(nap_ns_, by.executor->longest_nap());
        return false;
    }
    if (recorder_ != nullptr)
        trace_step(run, step, slot.began);
    return true;
}

// An issued step that has ended.
void Engine::forget_issued(Run &run, std::uint32_t step) {
    run.issued->remove(step);
    if (--issued_ == 0)
        nap_ns_ = kNoNap;
}

// Completes the issued steps that have ended.
void Engine::collect(Run &run) {
    if (run.tiles_left != 0)
        collect(*run.following);
    if (run.issued->none())
        return;
    run.call->execution->executor->poll();
    run.issued->each([&](const IssuedSteps::Slot &slot) {
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
    if (run.tiles_left != 0)
        drain(*run.following);
    if (run.issued == nullptr)
        return;
    run.issued->each([&](const IssuedSteps::Slot &slot) {
        if (slot.completion.pending())
            run.call->execution->executor->wait(slot.completion);
        forget_issued(run, slot.step);
    });
}

} // namespace stretto::engine
