// SPDX-License-Identifier: BSD-3-Clause
#include "programs.hpp"

#include <stdexcept>

#include "schedule/dependencies.hpp"

namespace stretto::test {

using schedule::Block;
using schedule::Op;
using schedule::OpKind;
using schedule::Position;

namespace {

double reductions(const Op &op) {
    if (op.kind == OpKind::reduce)
        return static_cast<double>(op.sources.size()) - 1;
    return op.kind == OpKind::recv && op.from != schedule::kNoSlot ? 1 : 0;
}

} // namespace

std::size_t bytes_of(const Op &op, std::span<const std::size_t> bounds, std::size_t element) {
    std::size_t bytes = 0;
    for (const Block block : op.blocks) {
        const auto b = static_cast<std::size_t>(block);
        bytes += (bounds[b + 1] - bounds[b]) * element;
    }
    return bytes;
}

Programs::Programs(const schedule::Schedule &schedule, const simulate::Problem &problem) {
    if (schedule.token)
        throw std::invalid_argument(schedule.name + ": schedules with a token are not compared");
    const std::vector<std::size_t> bounds = schedule.partition.bounds(problem.count);
    for (Position p = 0; p < schedule.ranks; ++p) {
        const schedule::Program program = schedule.program(p);
        before.push_back(schedule::dependencies(program.ops, program.open));
        steps.emplace_back();
        std::map<std::string, int> sent; // messages so far, by channel and lane
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            const Op &op = program.ops[i];
            const std::size_t bytes = bytes_of(op, bounds, problem.element);
            Step step{op.kind, nullptr, reductions(op) * static_cast<double>(bytes)};
            if (op.kind == OpKind::send || op.kind == OpKind::recv) {
                const bool sends = op.kind == OpKind::send;
                const std::string channel = std::to_string(sends ? p : op.peer) + " to " +
                                            std::to_string(sends ? op.peer : p) + " lane " +
                                            std::to_string(op.lane);
                const int number = sent[channel]++;
                if (bytes > 0)
                    step.message = message(channel + " number " + std::to_string(number));
            }
            if (step.message != nullptr && op.kind == OpKind::send) {
                step.message->from = p;
                step.message->index = static_cast<std::int32_t>(i);
                step.message->bytes = bytes;
            } else if (step.message != nullptr) {
                step.message->to = p;
            }
            steps.back().push_back(step);
        }
    }
}

Message *Programs::message(const std::string &name) {
    std::unique_ptr<Message> &found = messages_[name];
    if (!found) {
        found = std::make_unique<Message>();
        found->box = simgrid::s4u::Mailbox::by_name(name);
    }
    return found.get();
}

} // namespace stretto::test
