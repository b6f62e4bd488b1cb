// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/progress.hpp"

namespace stretto::simulate {

using schedule::Position;

Progress::Progress(const Model &model, bool ordered)
    : model_(model), ordered_(ordered), knows_token_(model.positions(), false),
      held_(model.positions(), kNone) {
    if (!ordered)
        return;
    // Every task waits for its position to arrive, and tasks behind the gate wait for the token.
    waits_ = model.order.waits;
    for (std::size_t p = 0; p < model.positions(); ++p)
        for (TaskId task = model.first[p]; task < model.first[p + 1]; ++task)
            waits_[task] += task < model.gate[p] ? 1U : 2U;
}

void Progress::arrive(Position position, std::vector<TaskId> &ready) {
    const TaskId first = model_.first[at(position)];
    if (!ordered_) {
        walk_to(first, position, ready);
        return;
    }
    for (TaskId task = first; task < model_.first[at(position) + 1]; ++task)
        release(task, ready);
}

void Progress::learn_token(Position position, std::vector<TaskId> &ready) {
    if (knows_token(position))
        return;
    knows_token_[at(position)] = true;
    if (ordered_) {
        for (TaskId task = model_.gate[at(position)]; task < model_.first[at(position) + 1]; ++task)
            release(task, ready);
    } else if (held_[at(position)] != kNone) {
        ready.push_back(held_[at(position)]);
    }
}

void Progress::complete(TaskId task, std::vector<TaskId> &ready) {
    if (!ordered_) {
        walk_to(task + 1, model_.tasks[task].position, ready);
        return;
    }
    for (const TaskId later : model_.dependents(task))
        release(later, ready);
}

void Progress::release(TaskId task, std::vector<TaskId> &ready) {
    if (--waits_[task] == 0)
        ready.push_back(task);
}

void Progress::walk_to(TaskId task, Position position, std::vector<TaskId> &ready) {
    if (task == model_.first[at(position) + 1])
        return;
    if (task >= model_.gate[at(position)] && !knows_token(position))
        held_[at(position)] = task;
    else
        ready.push_back(task);
}

} // namespace stretto::simulate
