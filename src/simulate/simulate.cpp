// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/simulate.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <tuple>

#include "base/status.hpp"
#include "schedule/json.hpp"
#include "simulate/compile.hpp"
#include "simulate/ports.hpp"
#include "simulate/progress.hpp"
#include "simulate/ticks.hpp"

namespace stretto::simulate {

namespace {

using schedule::Position;
using schedule::Schedule;

// Something that happens at a time.  Events of the same time happen in the order in which they were
// scheduled.
struct Moment {
    enum class Kind : std::uint8_t { arrival, transfer_end, work_end };

    Ticks time;
    std::uint64_t turn;
    Kind kind;
    std::uint32_t id; // a position, a message, a task

    bool operator>(const Moment &other) const {
        return std::tie(time, turn) > std::tie(other.time, other.turn);
    }
};

class Simulator {
public:
    Simulator(const Schedule &schedule, const Problem &problem)
        : schedule_(schedule), problem_(problem), arrivals_(arrivals_of(schedule, problem)),
          model_(compile(schedule, problem)), progress_(model_, problem.mode == Mode::ordered),
          messages_(model_.messages.size()), reached_(model_.tasks.size()),
          complete_(model_.tasks.size()),
          ports_(static_cast<Position>(model_.positions()), problem.sharing) {
        arrivals_.resize(model_.positions());
        finish_ = processor_free_ = arrivals_;
        away_ = arrivals_.size();
    }

    Timeline run() {
        start();
        while (!moments_.empty()) {
            now_ = moments_.top().time;
            while (!moments_.empty() && moments_.top().time == now_) {
                const Moment moment = moments_.top();
                moments_.pop();
                happen(moment);
            }
            for (const MessageId message : ports_.start())
                foresee(now_ + transfer(message), Moment::Kind::transfer_end, message);
        }
        return timeline();
    }

private:
    struct MessageState {
        bool issued : 1 = false;  // by the sender
        bool awaited : 1 = false; // the receiver may take it
        bool delivered : 1 = false;
        bool has_token : 1 = false; // sent after its sender knew the token
    };

    static std::vector<Ticks> arrivals_of(const Schedule &schedule, const Problem &problem) {
        std::vector<Ticks> arrivals(static_cast<std::size_t>(std::max(schedule.ranks, 0)), 0);
        if (problem.arrivals.empty())
            return arrivals;
        if (problem.arrivals.size() != arrivals.size())
            throw Error(Status::argument, "simulate: " + std::to_string(problem.arrivals.size()) +
                                              " arrivals for " + std::to_string(arrivals.size()) +
                                              " positions; give one for each, or none");
        for (std::size_t p = 0; p < arrivals.size(); ++p)
            arrivals[p] = to_ticks(problem.arrivals[p], "an arrival");
        return arrivals;
    }

    void start() {
        if (problem_.mode == Mode::eager)
            for (MessageState &message : messages_)
                message.awaited = true;
        if (schedule_.token && schedule_.token->arbiter >= 0) {
            arbiter_ = schedule_.token->arbiter;
            before_token_ = schedule_.token->issued_after;
        }
        for (std::size_t p = 0; p < arrivals_.size(); ++p)
            foresee(arrivals_[p], Moment::Kind::arrival, static_cast<std::uint32_t>(p));
    }

    void foresee(Ticks time, Moment::Kind kind, std::uint32_t id) {
        if (time > kEndTicks)
            throw Error(Status::argument,
                        "simulate: '" + schedule_.name +
                            "' takes more than 50 days; are the times in seconds?");
        moments_.push({time, turn_++, kind, id});
    }

    void happen(const Moment &moment) {
        switch (moment.kind) {
        case Moment::Kind::arrival: arrive(static_cast<Position>(moment.id)); break;
        case Moment::Kind::transfer_end: deliver(moment.id); break;
        case Moment::Kind::work_end: end_work(moment.id); break;
        }
        // A loop, as a program may pass thousands of ops at one moment.
        for (std::size_t i = 0; i < ready_.size(); ++i) // it grows meanwhile
            reach(ready_[i]);
        ready_.clear();
    }

    void arrive(Position position) {
        if (problem_.mode == Mode::arrived)
            for (TaskId task = first(position); task < first(position + 1); ++task)
                if (const Task &here = model_.tasks[task]; !here.sends && here.message != kNone)
                    await(here.message);
        progress_.arrive(position, ready_);
        if (position == arbiter_ && before_token_ == 0)
            progress_.learn_token(position, ready_);
        if (--away_ == 0 && arbiter_ < 0)
            for (std::size_t p = 0; p < model_.positions(); ++p)
                progress_.learn_token(static_cast<Position>(p), ready_);
    }

    // Everything that the task waits for, apart from its own message, has happened.
    void reach(TaskId task) {
        reached_[task] = true;
        const Task &here = model_.tasks[task];
        if (here.message == kNone)
            work(task);
        else if (here.sends)
            issue(here.message);
        else if (messages_[here.message].delivered)
            work(task);
        else
            await(here.message);
    }

    void issue(MessageId message) {
        messages_[message].issued = true;
        messages_[message].has_token =
            progress_.knows_token(position_of(model_.messages[message].send));
        offer(message);
        if (problem_.mode != Mode::ordered)
            complete(model_.messages[message].send);
    }

    void await(MessageId message) {
        if (messages_[message].awaited)
            return;
        messages_[message].awaited = true;
        offer(message);
    }

    void offer(MessageId message) {
        if (!messages_[message].issued || !messages_[message].awaited)
            return;
        const auto [send, recv] = model_.messages[message];
        ports_.wait({now_, model_.index(send), position_of(send), position_of(recv), message});
    }

    void deliver(MessageId message) {
        const auto [send, recv] = model_.messages[message];
        const Position from = position_of(send), to = position_of(recv);
        ports_.release(from, to);
        messages_[message].delivered = true;
        note(send, recv, now_ - transfer(message), model_.cost(recv).reductions > 0);
        finish_[at(from)] = std::max(finish_[at(from)], now_);
        if (problem_.mode == Mode::ordered)
            complete(send);
        if (reached_[recv])
            work(recv);
    }

    // Queues the processor's work for a task behind its earlier work.
    void work(TaskId task) {
        const Ticks busy = model_.cost(task).work;
        if (busy == 0) {
            complete(task);
            return;
        }
        Ticks &free = processor_free_[at(position_of(task))];
        free = std::max(free, now_) + busy;
        foresee(free, Moment::Kind::work_end, task);
    }

    void end_work(TaskId task) {
        note(task, task, now_ - model_.cost(task).work, true);
        complete(task);
    }

    void complete(TaskId task) {
        const Task &here = model_.tasks[task];
        complete_[task] = true;
        finish_[at(here.position)] = std::max(finish_[at(here.position)], now_);
        progress_.complete(task, ready_);
        if (!here.sends && here.message != kNone && messages_[here.message].has_token)
            progress_.learn_token(here.position, ready_);
        if (here.position == arbiter_ &&
            model_.index(task) < static_cast<std::uint32_t>(schedule_.token->issued_after) &&
            --before_token_ == 0)
            progress_.learn_token(here.position, ready_);
    }

    void note(TaskId from, TaskId to, Ticks start, bool reduces) {
        if (problem_.watch)
            problem_.watch({position_of(from), position_of(to), op_of(from), op_of(to),
                            model_.blocks[from], to_seconds(start), to_seconds(now_), reduces});
    }

    Timeline timeline() {
        for (TaskId task = 0; task < complete_.size(); ++task)
            if (!complete_[task])
                throw Error(Status::argument, stuck(task));
        Timeline timeline;
        double elapsed = 0;
        for (Position p = 0; p < schedule_.ranks; ++p) {
            const std::size_t played = model_.one_for_all ? 0 : at(p);
            timeline.finish.push_back(to_seconds(finish_[played]));
            elapsed += to_seconds(finish_[played] - arrivals_[played]);
        }
        timeline.makespan = *std::max_element(timeline.finish.begin(), timeline.finish.end());
        timeline.mean_elapsed = elapsed / static_cast<double>(timeline.finish.size());
        return timeline;
    }

    std::string stuck(TaskId task) const {
        const Position position = position_of(task);
        const auto ops = schedule::path(schedule_.program(position), problem_.token_value);
        return "simulate: '" + schedule_.name + "' deadlocks: position " +
               std::to_string(position) + " waits in op " + std::to_string(model_.index(task)) +
               " (" + schedule::to_text(ops[model_.index(task)]) + "); verify() gives the cause";
    }

    static std::size_t at(Position position) { return static_cast<std::size_t>(position); }
    Position position_of(TaskId task) const { return model_.tasks[task].position; }
    std::int32_t op_of(TaskId task) const { return static_cast<std::int32_t>(model_.index(task)); }
    TaskId first(Position position) const { return model_.first[at(position)]; }
    Ticks transfer(MessageId message) const {
        return model_.cost(model_.messages[message].send).transfer;
    }

    const Schedule &schedule_;
    const Problem &problem_;
    std::vector<Ticks> arrivals_; // per position, as below

    const Model model_;
    Progress progress_;
    std::vector<MessageState> messages_;
    std::vector<bool> reached_, complete_; // per task
    std::vector<Ticks> finish_, processor_free_;

    Ports ports_;
    std::priority_queue<Moment, std::vector<Moment>, std::greater<>> moments_;
    std::vector<TaskId> ready_;
    Ticks now_ = 0;
    std::uint64_t turn_ = 0;
    std::size_t away_ = 0; // positions that have not arrived
    Position arbiter_ = -1;
    std::int32_t before_token_ = 0; // ops that the arbiter completes before it issues the token
};

} // namespace

Timeline simulate(const Schedule &schedule, const Problem &problem) {
    return Simulator(schedule, problem).run();
}

} // namespace stretto::simulate
