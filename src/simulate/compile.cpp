// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/compile.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/status.hpp"
#include "schedule/check.hpp"
#include "schedule/dependencies.hpp"

namespace stretto::simulate {

namespace {

using schedule::Block;
using schedule::Op;
using schedule::OpKind;
using schedule::Position;
using schedule::Program;
using schedule::Schedule;

// For each op of a program, the earlier ones that it is ordered after.
using Before = std::vector<std::vector<std::int32_t>>;

// One side of a message.  Sorted, the tasks of a channel and lane stand together in program order.
struct End {
    Position source, destination;
    schedule::Lane lane;
    TaskId task;
    std::size_t bytes;

    auto channel() const { return std::tie(source, destination, lane); }
    bool operator<(const End &other) const {
        return std::tie(source, destination, lane, task) <
               std::tie(other.source, other.destination, other.lane, other.task);
    }
};

std::string describe(const End &end, bool sends) {
    return std::string(sends ? "send" : "receive") + " of " + std::to_string(end.bytes) +
           " bytes from position " + std::to_string(end.source) + " to " +
           std::to_string(end.destination) + " on lane " + std::to_string(end.lane);
}

[[noreturn]] void unpaired(const End &end, bool sends) {
    throw Error(Status::argument,
                "simulate: no partner for the " + describe(end, sends) + "; verify() tells more");
}

class Compiler {
public:
    Compiler(const Schedule &schedule, const Problem &problem)
        : schedule_(schedule), problem_(problem), bounds_(schedule.partition.bounds(problem.count)),
          arbiter_(schedule.token && schedule.token->arbiter >= 0) {}

    Model run() {
        schedule::check_frame(schedule_);
        model_.first.push_back(0);
        model_.edges_from.push_back(0);
        for (Position p = 0; p < schedule_.ranks; ++p)
            add(p, schedule_.program(p));
        pair();
        return std::move(model_);
    }

private:
    void add(Position position, const Program &program) {
        schedule::check_program(schedule_, position, program);
        const std::vector<Op> ops = schedule::path(program, problem_.token_value);
        const bool differ = std::adjacent_find(program.suffixes.begin(), program.suffixes.end(),
                                               std::not_equal_to<>()) != program.suffixes.end();
        const std::size_t gate = differ ? program.ops.size() : ops.size();
        for (std::size_t i = 0; i < ops.size(); ++i)
            add(position, ops[i], i >= gate);
        add_order(problem_.mode == Mode::ordered ? schedule::dependencies(ops, program.open)
                                                 : program_order(ops.size()));
        model_.first.push_back(next_task());
    }

    void add(Position position, const Op &op, bool gated) {
        const std::size_t bytes = bytes_of(op.blocks);
        const std::size_t reductions = reductions_of(op);
        const Task task{
            .position = position,
            .message = kNone,
            .work = to_ticks(problem_.network.gamma * static_cast<double>(reductions * bytes),
                             "a reduction"),
            .block = op.blocks.empty() ? 0 : op.blocks.front(),
            .sends = op.kind == OpKind::send,
            .reduces = reductions > 0,
            .gated = gated};
        const bool travels = bytes > 0 || arbiter_;
        if (task.sends && travels)
            sends_.push_back({position, op.peer, op.lane, next_task(), bytes});
        if (op.kind == OpKind::recv && travels)
            recvs_.push_back({op.peer, position, op.lane, next_task(), bytes});
        model_.tasks.push_back(task);
    }

    // Of each byte.
    static std::size_t reductions_of(const Op &op) {
        if (op.kind == OpKind::reduce)
            return op.sources.size() - 1;
        return op.kind == OpKind::recv && op.from != schedule::kNoSlot ? 1 : 0;
    }

    std::size_t bytes_of(const std::vector<Block> &blocks) const {
        std::size_t elements = 0;
        for (const Block block : blocks) {
            const auto b = static_cast<std::size_t>(block);
            elements += bounds_[b + 1] - bounds_[b];
        }
        return elements * problem_.element;
    }

    static Before program_order(std::size_t ops) {
        Before before(ops);
        for (std::size_t i = 1; i < ops; ++i)
            before[i] = {static_cast<std::int32_t>(i - 1)};
        return before;
    }

    // Turns the lists round.
    //
    //   before      op 0: -   op 1: 0   op 2: 0 1
    //   dependents  op 0: 1 2   op 1: 2   op 2: -       edges 1 2 2, edges_from 0 2 3 3
    void add_order(const Before &before) {
        const TaskId first = model_.first.back();
        std::vector<std::size_t> end(before.size() + 1, 0); // end[i + 1]: of the list of op i
        for (const std::vector<std::int32_t> &earlier : before) {
            model_.waits.push_back(static_cast<std::uint32_t>(earlier.size()));
            for (const std::int32_t op : earlier)
                ++end[static_cast<std::size_t>(op) + 1];
        }
        end[0] = model_.edges.size();
        for (std::size_t i = 0; i < before.size(); ++i) {
            end[i + 1] += end[i];
            model_.edges_from.push_back(end[i + 1]);
        }
        model_.edges.resize(end.back());
        for (std::size_t i = before.size(); i-- > 0;)
            for (const std::int32_t op : before[i])
                model_.edges[--end[static_cast<std::size_t>(op) + 1]] =
                    first + static_cast<TaskId>(i);
    }

    // Message i of a channel and lane is its i-th send and its i-th receive.
    void pair() {
        std::sort(sends_.begin(), sends_.end());
        std::sort(recvs_.begin(), recvs_.end());
        model_.messages.reserve(sends_.size());
        std::size_t both = 0;
        while (both < sends_.size() && both < recvs_.size() &&
               sends_[both].channel() == recvs_[both].channel()) {
            pair(sends_[both], recvs_[both]);
            ++both;
        }
        const bool send_left = both < sends_.size(), recv_left = both < recvs_.size();
        if (send_left && (!recv_left || sends_[both].channel() < recvs_[both].channel()))
            unpaired(sends_[both], true);
        if (recv_left)
            unpaired(recvs_[both], false);
    }

    void pair(const End &send, const End &recv) {
        if (send.bytes != recv.bytes)
            throw Error(Status::argument, "simulate: the " + describe(send, true) + " meets a " +
                                              describe(recv, false) + "; verify() tells more");
        const auto message = static_cast<MessageId>(model_.messages.size());
        model_.tasks[send.task].message = model_.tasks[recv.task].message = message;
        const Network &network = problem_.network;
        model_.messages.push_back(
            {.send = send.task,
             .recv = recv.task,
             .transfer = to_ticks(network.alpha + network.beta * static_cast<double>(send.bytes),
                                  "a message")});
    }

    TaskId next_task() const {
        if (model_.tasks.size() >= kNone)
            throw Error(Status::argument, "simulate: '" + schedule_.name + "' has more than " +
                                              std::to_string(kNone) + " ops; use fewer ranks");
        return static_cast<TaskId>(model_.tasks.size());
    }

    const Schedule &schedule_;
    const Problem &problem_;
    std::vector<std::size_t> bounds_;
    bool arbiter_;
    Model model_;
    std::vector<End> sends_, recvs_;
};

} // namespace

Model compile(const Schedule &schedule, const Problem &problem) {
    return Compiler(schedule, problem).run();
}

} // namespace stretto::simulate
