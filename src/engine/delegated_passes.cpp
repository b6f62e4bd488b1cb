// SPDX-License-Identifier: BSD-3-Clause
// Steps of which another rank launches the pass, in its process (pass_delegation.hpp).  Such a step
// is issued, and its own rank publishes it when the pass is complete.  If the delegate does not
// take the pass, the step is as it was before, and its rank issues it to its own executor.
#include "engine/engine.hpp"
#include "engine/issued.hpp"
#include "engine/pass_delegation.hpp"

namespace stretto::engine {

// Posts the pass of a step, if all its memory is shared on a device and there is a delegate; false
// if this rank is to launch it.
bool Engine::delegate_pass(Run &run, const Step &step, IssuedSteps::Slot &slot,
                           transport::Location where) {
    using In = transport::Location::In;
    if (std::exchange(slot.returned, IssuedSteps::kNoStep) == slot.step ||
        !delegation_->may_post() || slot.prefetched == slot.step || !run.steps_share ||
        (run.input_place | run.output_place) == 0 ||
        (step.publishes && where.in() != In::delivered))
        return false;
    const auto own = [&](Space space, std::uint64_t offset) -> std::uint64_t {
        const std::uint64_t vector = space == Space::input    ? run.input_place
                                     : space == Space::output ? run.output_place
                                                              : 0;
        return vector == 0 ? 0 : vector + offset + run.shift;
    };
    transport::DelegatedPass &pass = delegation_->next();
    pass.clear();
    const StepOperand *operand = run.plan->operands.data() + step.first_operand;
    for (std::uint32_t k = 0; k < step.operands; ++k) {
        const StepOperand &each = operand[k];
        if (each.space != Space::cell) {
            if (!pass.add(rank_, own(each.space, each.offset), pass.ins))
                return false;
            continue;
        }
        const transport::Location at = cell(each.rank, run.bases[each.rank] + each.offset).where;
        if (at.in() != In::device ||
            !pass.add(each.rank, static_cast<std::uint64_t>(at.offset()), pass.ins))
            return false;
    }
    if (step.has_result && !pass.add(rank_, own(step.result_space, step.result_offset), pass.outs))
        return false;
    const StepReader *reader = run.plan->readers.data() + step.first_reader;
    for (std::uint32_t r = 0; step.publishes && r < step.readers; ++r) {
        const std::uint64_t place = shared_output(run, reader[r].rank, step);
        if (place == 0 ||
            !pass.add(reader[r].rank, place + reader[r].result_offset + run.shift, pass.outs))
            return false;
    }
    const Kernel &kernel = run.call->execution->kernel;
    pass.reduces = step.operands > 1;
    pass.dtype = pass.reduces ? kernel.dtype : Dtype::i8;
    pass.op = pass.reduces ? kernel.op : ReduceOp::sum;
    pass.rounds_each = pass.reduces && kernel.rounding == reduce::Rounding::each;
    pass.bytes = step.length;
    const std::optional<std::uint32_t> number = delegation_->post();
    if (!number)
        return false;
    slot.delegation = *number;
    slot.where = where;
    slot.began = recorder_ != nullptr ? recorder_->step_begins() : 0;
    slot.completion.arm();
    run.issued->drop_prefetches(slot);
    add_issued(run, slot);
    return true;
}

// Ends the completion of a step when its delegated pass has ended; false if the pass has come back,
// so that the step is not issued any more.
bool Engine::look_at_delegated(Run &run, IssuedSteps::Slot &slot) {
    const PassDelegation::Fate fate = delegation_->look(slot.delegation);
    if (fate == PassDelegation::Fate::pending)
        return true;
    slot.delegation = IssuedSteps::kNoDelegation;
    slot.completion.complete();
    if (fate == PassDelegation::Fate::failed)
        slot.completion.fail(*delegation_->error());
    if (fate != PassDelegation::Fate::returned)
        return true;
    slot.returned = slot.step;
    forget_issued(run, slot.step);
    return false;
}

// The rank for which an issued step waits, if that is not this one.
int Engine::delegate_of(const Run &run, std::uint32_t step) const {
    const std::uint32_t number = run.issued->slot_of(step).delegation;
    return number == IssuedSteps::kNoDelegation ? transport::WaitState::kItselfRank
                                                : delegation_->delegate_of(number);
}

} // namespace stretto::engine
