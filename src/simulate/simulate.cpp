// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/simulate.hpp"

#include <algorithm>
#include <deque>
#include <queue>

#include "base/status.hpp"
#include "schedule/dependencies.hpp"
#include "schedule/messages.hpp"

namespace stretto::simulate {

using schedule::Op;
using schedule::OpKind;
using schedule::Position;
using schedule::Schedule;

namespace {

struct OpState {
    std::int32_t waits = 0;           // ops of its position that must be complete before
    std::vector<std::int32_t> before; // ops that wait for it
    std::size_t bytes = 0;
    bool issued = false, complete = false;
    bool delivered = false; // recv: the message has come
};

struct PositionState {
    std::vector<Op> ops;
    std::vector<OpState> states;
    std::vector<std::int32_t> partner; // of messages: the op at the peer
    std::deque<std::int32_t> outgoing; // sends that are issued and not started, oldest first
    std::vector<Position> knocking;    // senders that found this position not ready
    bool sending = false, receiving = false, arrived = false;
    double processor_free = 0;
    double finish = 0;
};

struct Moment {
    double time;
    enum Kind { arrival, transfer_end, op_end } kind;
    Position position; // transfer_end: the sender
    std::int32_t op;   // transfer_end: the send
    std::int64_t turn; // events of one time happen in the order they were made
    bool operator>(const Moment &other) const {
        return time != other.time ? time > other.time : turn > other.turn;
    }
};

class Simulator {
public:
    Simulator(const Schedule &schedule, const Problem &problem)
        : problem_(problem), positions_(static_cast<std::size_t>(schedule.ranks)) {
        if (!problem.arrivals.empty() && problem.arrivals.size() != positions_.size())
            throw Error(Status::argument, "there are " + std::to_string(problem.arrivals.size()) +
                                              " arrival times for " +
                                              std::to_string(positions_.size()) + " positions");
        const std::vector<std::size_t> bounds = schedule.partition.bounds(problem.count);
        std::vector<std::vector<Op>> paths;
        std::vector<schedule::Window> windows;
        for (Position p = 0; p < schedule.ranks; ++p) {
            const schedule::Program program = schedule.program(p);
            paths.push_back(schedule::path(program));
            windows.push_back(program.open);
        }
        const auto partners = schedule::match(paths, schedule.partition);
        for (std::size_t p = 0; p < positions_.size(); ++p) {
            PositionState &state = positions_[p];
            state.ops = std::move(paths[p]);
            state.partner = partners[p];
            state.states.resize(state.ops.size());
            for (std::size_t i = 0; i < state.ops.size(); ++i)
                for (const schedule::Block block : state.ops[i].blocks)
                    state.states[i].bytes += (bounds[static_cast<std::size_t>(block) + 1] -
                                              bounds[static_cast<std::size_t>(block)]) *
                                             problem.element;
            order(state, windows[p]);
            at(arrival_of(p), Moment::arrival, static_cast<Position>(p), 0);
        }
    }

    Timeline run() {
        while (!moments_.empty()) {
            const Moment moment = moments_.top();
            moments_.pop();
            now_ = moment.time;
            if (moment.kind == Moment::arrival)
                arrive(moment.position);
            else if (moment.kind == Moment::transfer_end)
                end_transfer(moment.position, moment.op);
            else
                complete(moment.position, moment.op);
        }
        Timeline timeline;
        for (std::size_t p = 0; p < positions_.size(); ++p) {
            const PositionState &state = positions_[p];
            for (const OpState &op : state.states)
                if (!op.complete)
                    throw Error(Status::argument, "position " + std::to_string(p) +
                                                      " gets stuck; `stretto verify` says why");
            timeline.finish.push_back(state.finish);
            timeline.makespan = std::max(timeline.makespan, state.finish);
            timeline.mean_elapsed +=
                (state.finish - arrival_of(p)) / static_cast<double>(positions_.size());
        }
        timeline.events = std::move(events_);
        return timeline;
    }

private:
    PositionState &of(Position position) { return positions_[static_cast<std::size_t>(position)]; }
    OpState &state_of(Position position, std::int32_t op) {
        return of(position).states[static_cast<std::size_t>(op)];
    }
    const Op &op_of(Position position, std::int32_t op) {
        return of(position).ops[static_cast<std::size_t>(op)];
    }
    double arrival_of(std::size_t p) const {
        return problem_.arrivals.empty() ? 0 : problem_.arrivals[p];
    }
    void at(double time, Moment::Kind kind, Position position, std::int32_t op) {
        moments_.push({time, kind, position, op, turn_++});
    }

    // Who waits for whom within a position.
    void order(PositionState &state, schedule::Window window) {
        if (problem_.mode == Mode::ordered) {
            const auto before = schedule::dependencies(state.ops, window);
            for (std::size_t i = 0; i < before.size(); ++i) {
                state.states[i].waits = static_cast<std::int32_t>(before[i].size());
                for (const std::int32_t earlier : before[i])
                    state.states[static_cast<std::size_t>(earlier)].before.push_back(
                        static_cast<std::int32_t>(i));
            }
            return;
        }
        // Program order: each op after the last one that blocks; sends are buffered and do not.
        std::int32_t blocking = -1;
        for (std::size_t i = 0; i < state.ops.size(); ++i) {
            if (blocking >= 0) {
                state.states[i].waits = 1;
                state.states[static_cast<std::size_t>(blocking)].before.push_back(
                    static_cast<std::int32_t>(i));
            }
            if (state.ops[i].kind != OpKind::send)
                blocking = static_cast<std::int32_t>(i);
        }
    }

    void arrive(Position position) {
        PositionState &state = of(position);
        state.arrived = true;
        state.finish = state.processor_free = now_;
        for (std::size_t i = 0; i < state.ops.size(); ++i)
            if (state.states[i].waits == 0)
                issue(position, static_cast<std::int32_t>(i));
        let_in(position);
    }

    void issue(Position position, std::int32_t index) {
        OpState &state = state_of(position, index);
        const Op &op = op_of(position, index);
        if (state.issued)
            return;
        state.issued = true;
        if (op.kind == OpKind::send) {
            if (state.bytes == 0) {
                complete(position, index);
                return;
            }
            of(position).outgoing.push_back(index);
            start_transfer(position);
        } else if (op.kind == OpKind::recv) {
            if (state.bytes == 0)
                complete(position, index);
            else if (state.delivered)
                compute(position, index, op.from != schedule::kNoSlot ? 1 : 0);
            else
                start_transfer(op.peer);
        } else {
            compute(position, index,
                    op.kind == OpKind::reduce ? static_cast<double>(op.sources.size()) - 1 : 0);
        }
    }

    // `reductions` passes over the op's bytes on the position's one processor, then the op is done.
    void compute(Position position, std::int32_t index, double reductions) {
        PositionState &state = of(position);
        const double start = std::max(now_, state.processor_free);
        const double end = reductions == 0
                               ? now_
                               : start + reductions * problem_.network.gamma *
                                             static_cast<double>(state_of(position, index).bytes);
        if (reductions != 0)
            state.processor_free = end;
        at(end, Moment::op_end, position, index);
    }

    void complete(Position position, std::int32_t index) {
        OpState &state = state_of(position, index);
        state.complete = true;
        of(position).finish = std::max(of(position).finish, now_);
        for (const std::int32_t next : state.before)
            if (--state_of(position, next).waits == 0 && of(position).arrived)
                issue(position, next);
    }

    bool receiver_ready(Position sender, std::int32_t send) {
        const Op &op = op_of(sender, send);
        const PositionState &receiver = of(op.peer);
        if (receiver.receiving)
            return false;
        const std::int32_t recv = of(sender).partner[static_cast<std::size_t>(send)];
        switch (problem_.mode) {
        case Mode::eager: return true;
        case Mode::arrived: return receiver.arrived;
        default: return receiver.states[static_cast<std::size_t>(recv)].issued;
        }
    }

    // Starts the oldest message of a sender that can travel now.
    void start_transfer(Position sender) {
        PositionState &state = of(sender);
        if (state.sending)
            return;
        for (auto each = state.outgoing.begin(); each != state.outgoing.end(); ++each) {
            const Op &op = op_of(sender, *each);
            PositionState &receiver = of(op.peer);
            if (!receiver_ready(sender, *each)) {
                if (std::find(receiver.knocking.begin(), receiver.knocking.end(), sender) ==
                    receiver.knocking.end())
                    receiver.knocking.push_back(sender);
                continue;
            }
            const std::int32_t send = *each;
            state.outgoing.erase(each);
            state.sending = receiver.receiving = true;
            const double end =
                now_ + problem_.network.alpha +
                problem_.network.beta * static_cast<double>(state_of(sender, send).bytes);
            if (problem_.keep_events)
                events_.push_back(
                    {sender, op.peer, op.blocks.front(), now_, end,
                     op_of(op.peer, state.partner[static_cast<std::size_t>(send)]).from !=
                         schedule::kNoSlot});
            at(end, Moment::transfer_end, sender, send);
            return;
        }
    }

    void end_transfer(Position sender, std::int32_t send) {
        const Position to = op_of(sender, send).peer;
        const std::int32_t recv = of(sender).partner[static_cast<std::size_t>(send)];
        of(sender).sending = of(to).receiving = false;
        complete(sender, send);
        state_of(to, recv).delivered = true;
        if (state_of(to, recv).issued)
            compute(to, recv, op_of(to, recv).from != schedule::kNoSlot ? 1 : 0);
        start_transfer(sender);
        let_in(to);
    }

    void let_in(Position receiver) {
        std::vector<Position> knocking;
        knocking.swap(of(receiver).knocking);
        for (const Position sender : knocking)
            start_transfer(sender);
    }

    const Problem &problem_;
    std::vector<PositionState> positions_;
    std::priority_queue<Moment, std::vector<Moment>, std::greater<>> moments_;
    std::vector<Event> events_;
    double now_ = 0;
    std::int64_t turn_ = 0;
};

} // namespace

Timeline simulate(const Schedule &schedule, const Problem &problem) {
    return Simulator(schedule, problem).run();
}

} // namespace stretto::simulate
