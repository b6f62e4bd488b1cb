// SPDX-License-Identifier: BSD-3-Clause
#include "cost/walk.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "cost/flow_control.hpp"

namespace stretto::cost {

namespace {

using PortId = std::uint32_t;

// An event at a time.  Events of the same time happen in the order in which they were added.
struct Moment {
    enum class Kind : std::uint8_t { comes, reaches, left, there, worked };

    double time;
    std::uint32_t turn;
    std::uint32_t id; // a position that comes, a message, or a task that has worked
    Kind kind;

    bool operator>(const Moment &other) const {
        return std::tie(time, turn) > std::tie(other.time, other.turn);
    }
};

// A port serves messages in the order in which they come, so its state is only the time from which
// it is free.
class Player {
public:
    Player(const Pieces &pieces, const Streams &streams)
        : pieces_(pieces), flow_(pieces, streams), rings_(std::isfinite(streams.ring)),
          states_(pieces.tasks.size()), sides_(pieces.messages.size(), 0),
          port_(pieces.messages.size(), 0), processor_free_(pieces.positions, 0),
          port_free_(2 * std::size_t{pieces.positions} + 3 * std::size_t{pieces.hosts}, 0),
          started_(pieces.positions) {}

    Walk run(double limit, std::span<const double> arrivals) {
        for (TaskId task = 0; task < states_.size(); ++task)
            states_[task].waits = pieces_.tasks[task].waits;
        walk_.finish.assign(pieces_.positions, 0);
        for (std::uint32_t position = 0; position < arrivals.size(); ++position)
            if (walk_.finish[position] = arrivals[position]; arrivals[position] > 0)
                add_event(arrivals[position], Moment::Kind::comes, position);
        for (TaskId task = 0; task < states_.size(); ++task)
            // The first tasks of a position wait until it has come.
            if (states_[task].waits == 0 && walk_.finish[pieces_.tasks[task].position] == 0)
                ready_.push_back(task);
        start_ready();
        while (!moments_.empty() && now_ <= limit) {
            now_ = moments_.top().time;
            while (!moments_.empty() && moments_.top().time == now_) {
                const Moment moment = moments_.top();
                moments_.pop();
                handle(moment);
            }
            start_ready();
            while (moments_.empty() && flow_.open_for_one())
                start_ready();
        }
        walk_.seconds = now_;
        walk_.ended = done_ == states_.size();
        return walk_;
    }

private:
    struct State {
        std::uint32_t waits = 0;
        std::int32_t level = 0; // messages on the longest chain that ends here
    };
    struct Started {
        std::uint64_t when = 0; // the number of the call of start_ready() that started it
        std::int32_t op = 0;
    };
    struct Ports {
        // The first and the last are those of the two positions; of data that are read, the only
        // one is that of the receiver.
        std::array<PortId, 4> ids;
        std::uint8_t size;
    };

    // The ports on the way of a message.  Out-ports of positions and hosts are even, in-ports odd;
    // behind them are the ports inside hosts.
    Ports ports_of(MessageId id) const {
        const Message &message = pieces_.messages[id];
        const std::uint32_t from = pieces_.tasks[message.send].position;
        const std::uint32_t to = pieces_.tasks[message.recv].position;
        const std::uint32_t first = pieces_.positions;
        switch (message.ports) {
        case Message::Ports::both: break;
        case Message::Ports::reader: return {{2 * to + 1}, 1};
        case Message::Ports::between_hosts:
            return {{2 * from, 2 * (first + pieces_.host_of[from]),
                     2 * (first + pieces_.host_of[to]) + 1, 2 * to + 1},
                    4};
        case Message::Ports::inside_host:
            return {{2 * from, 2 * (first + pieces_.hosts) + pieces_.host_of[from], 2 * to + 1}, 3};
        }
        return {{2 * from, 2 * to + 1}, 2};
    }

    void add_event(double time, Moment::Kind kind, std::uint32_t id) {
        moments_.push({time, turn_++, id, kind});
    }

    void handle(const Moment &moment) {
        switch (moment.kind) {
        case Moment::Kind::comes: come(moment.id); return;
        case Moment::Kind::reaches: next_port(moment.id); return;
        case Moment::Kind::left: complete(pieces_.messages[moment.id].send); return;
        case Moment::Kind::there:
            if (pieces_.messages[moment.id].eager)
                meet(moment.id);
            else
                work(pieces_.messages[moment.id].recv);
            return;
        case Moment::Kind::worked: complete(moment.id); return;
        }
    }

    void come(std::uint32_t position) {
        // Tasks lie position by position.
        auto task = std::ranges::lower_bound(pieces_.tasks, position, {}, &Task::position);
        for (; task != pieces_.tasks.end() && task->position == position; ++task)
            if (task->waits == 0)
                ready_.push_back(static_cast<TaskId>(task - pieces_.tasks.begin()));
    }

    // Called for each of the two sides of a message.  An eager piece starts when its send is ready,
    // and is received when it has arrived and its receive is ready.  Another piece starts when send
    // and receive are ready, and is received as soon as it arrives.
    void meet(MessageId id) {
        if (++sides_[id] < 2)
            return;
        if (pieces_.messages[id].eager)
            work(pieces_.messages[id].recv);
        else
            starting_.push_back(id);
    }

    // The work of a task on its processor, after the work that the processor has already.
    void work(TaskId task) {
        if (!flow_.holds(task))
            work_now(task);
    }
    void work_now(TaskId task) {
        const Task &here = pieces_.tasks[task];
        if (here.seconds == 0) {
            complete(task);
            return;
        }
        double &free = processor_free_[here.position];
        free = std::max(free, now_) + here.seconds;
        add_event(free, Moment::Kind::worked, task);
    }

    void complete(TaskId task) {
        ++done_;
        flow_.pass(task);
        // What lies in a ring leaves without its position.
        const Task &here = pieces_.tasks[task];
        if (!rings_ || !here.sends || !pieces_.messages[here.message].eager)
            finish(task);
        const std::int32_t level = states_[task].level;
        walk_.steps = std::max<std::int64_t>(walk_.steps, level);
        for (std::size_t i = pieces_.dependents_at[task]; i < pieces_.dependents_at[task + 1];
             ++i) {
            const TaskId later = pieces_.dependents[i];
            State &state = states_[later];
            state.level = std::max(state.level, level);
            if (--state.waits == 0)
                ready_.push_back(later);
        }
    }

    void finish(TaskId task) {
        double &last = walk_.finish[pieces_.tasks[task].position];
        last = std::max(last, now_);
    }

    // Starts everything that can start at this moment.
    void start_ready() {
        do {
            for (std::size_t i = 0; i < ready_.size(); ++i) // the loop appends to ready_
                begin(ready_[i]);
            ready_.clear();
            start_sends();
            flow_.take_freed(freed_);
            for (const TaskId task : freed_)
                resume(task);
        } while (!ready_.empty() || !starting_.empty() || !freed_.empty());
    }

    void begin(TaskId task) {
        const Task &here = pieces_.tasks[task];
        if (here.message == kNone)
            work(task);
        else if (!pieces_.messages[here.message].eager || !here.sends)
            meet(here.message);
        else if (!flow_.holds(task)) // the engine counts what it has published as done
            start_eager(task);
    }

    void start_eager(TaskId send) {
        flow_.pass(send);
        finish(send);
        starting_.push_back(pieces_.tasks[send].message);
    }

    // A task that waited for room, and has it.
    void resume(TaskId task) {
        if (pieces_.tasks[task].sends)
            start_eager(task);
        else
            work_now(task);
    }

    void start_sends() {
        // First slices start before later ones, as in the engine's order; then earlier ops.
        const auto turn = [&](MessageId id) {
            const Task &send = pieces_.tasks[pieces_.messages[id].send];
            return std::tuple(send.layer, send.op, id);
        };
        std::sort(starting_.begin(), starting_.end(),
                  [&](MessageId a, MessageId b) { return turn(a) < turn(b); });
        count_behind();
        for (const MessageId message : starting_)
            start(message);
        starting_.clear();
    }

    // Counts only the first piece of a message: the others follow at the pace of the port.
    void count_behind() {
        ++starts_;
        for (const MessageId id : starting_) {
            const Message &message = pieces_.messages[id];
            const Task &send = pieces_.tasks[message.send];
            if (message.common == 0 || send.layer != 0)
                continue;
            Started &last = started_[send.position];
            if (last.when == starts_ && last.op != send.op)
                walk_.behind += message.common;
            last = {starts_, send.op};
        }
    }

    void start(MessageId id) {
        const Message &message = pieces_.messages[id];
        std::int32_t &sent = states_[message.send].level, &taken = states_[message.recv].level;
        if (message.eager) {
            taken = std::max(taken, sent + 1);
        } else {
            taken = std::max(taken, sent) + 1;
            sent = taken;
        }
        next_port(id);
    }

    // Takes the message through the ports that serve it at once, up to one where it must wait.
    void next_port(MessageId id) {
        const Message &message = pieces_.messages[id];
        const double busy = pieces_.tasks[message.send].seconds;
        const Ports ports = ports_of(id);
        for (std::uint8_t &at = port_[id]; at < ports.size;) {
            double &free = port_free_[ports.ids[at]];
            double begin = std::max(free, now_);
            const bool shared = at > 0 && at + 1 < ports.size;
            // Pieces of other represented positions use the host's port first; to the other host
            // they have come one after another.
            if (shared)
                begin = at == 1 ? begin + message.ahead : std::max(free + message.ahead, now_);
            free = begin + (shared ? message.shared_seconds : busy);
            if (at++ == 0)
                add_event(free, Moment::Kind::left, id);
            if (at == ports.size)
                add_event(free + message.latency, Moment::Kind::there, id);
            else if (begin > now_) {
                add_event(begin, Moment::Kind::reaches, id);
                return;
            }
        }
    }

    const Pieces &pieces_;
    FlowControl flow_;
    const bool rings_; // rings are finite
    std::vector<State> states_;
    std::vector<std::uint8_t> sides_; // by message: how many sides are ready (meet)
    std::vector<std::uint8_t> port_;  // by message: how many ports it has come to
    std::vector<double> processor_free_, port_free_;
    std::vector<Started> started_; // by position: the last start
    std::uint64_t starts_ = 0;
    std::vector<TaskId> ready_, freed_;
    std::vector<MessageId> starting_;
    std::priority_queue<Moment, std::vector<Moment>, std::greater<>> moments_;
    double now_ = 0;
    std::uint32_t turn_ = 0;
    std::size_t done_ = 0;
    Walk walk_;
};

} // namespace

double with_common(double seconds, const Walk &walk, const Pieces &pieces, const Network &network) {
    if (network.cores != 0)
        return std::max(seconds, waiting_share(network.cores) * seconds +
                                     network.common * pieces.counts.messages_between);
    constexpr double kBeforeShare = 0.5; // the sender's part of `common`
    return std::max(seconds + kBeforeShare * network.common * static_cast<double>(walk.behind),
                    network.common * pieces.counts.pieces);
}

Walk walk(const Pieces &pieces, double limit, std::span<const double> arrivals,
          const Streams &streams) {
    return Player(pieces, streams).run(limit, arrivals);
}

} // namespace stretto::cost
