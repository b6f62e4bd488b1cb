// SPDX-License-Identifier: BSD-3-Clause
#include "cost/walk.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

namespace stretto::cost {

namespace {

using PortId = std::uint32_t;

// Something that happens at a time.  At the same time: in the order in which it was foreseen.
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

// Ports are servers: who comes first is served first, so a port is no more than the time from which
// on it is free.
class Player {
public:
    explicit Player(const Pieces &pieces)
        : pieces_(pieces), states_(pieces.tasks.size()), sides_(pieces.messages.size(), 0),
          port_(pieces.messages.size(), 0), processor_free_(pieces.positions, 0),
          port_free_(2 * (std::size_t{pieces.positions} + pieces.hosts), 0),
          started_(pieces.positions) {}

    Walk run(double limit, std::span<const double> arrivals) {
        for (TaskId task = 0; task < states_.size(); ++task)
            states_[task].waits = pieces_.tasks[task].waits;
        walk_.finish.assign(pieces_.positions, 0);
        for (std::uint32_t position = 0; position < arrivals.size(); ++position)
            if (walk_.finish[position] = arrivals[position]; arrivals[position] > 0)
                foresee(arrivals[position], Moment::Kind::comes, position);
        for (TaskId task = 0; task < states_.size(); ++task)
            // What a position that is not there has to do first waits for that.
            if (states_[task].waits == 0 && walk_.finish[pieces_.tasks[task].position] == 0)
                ready_.push_back(task);
        settle();
        while (!moments_.empty() && now_ <= limit) {
            now_ = moments_.top().time;
            while (!moments_.empty() && moments_.top().time == now_) {
                const Moment moment = moments_.top();
                moments_.pop();
                happen(moment);
            }
            settle();
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
        std::uint64_t when = 0; // which settling
        std::int32_t op = 0;
    };
    static constexpr std::uint8_t kHostPorts = 4; // of a message that takes those of hosts too
    struct Ports {
        std::array<PortId, 4> ids;
        std::uint8_t size;
    };

    // On the way of a message.  Out-ports of positions and hosts are even, their in-ports odd.
    Ports ports_of(MessageId id) const {
        const Message &message = pieces_.messages[id];
        const std::uint32_t from = pieces_.tasks[message.send].position;
        const std::uint32_t to = pieces_.tasks[message.recv].position;
        if (!message.host_ports)
            return {{2 * from, 2 * to + 1}, 2};
        const std::uint32_t first = pieces_.positions;
        return {{2 * from, 2 * (first + pieces_.host_of[from]),
                 2 * (first + pieces_.host_of[to]) + 1, 2 * to + 1},
                kHostPorts};
    }

    void foresee(double time, Moment::Kind kind, std::uint32_t id) {
        moments_.push({time, turn_++, id, kind});
    }

    void happen(const Moment &moment) {
        switch (moment.kind) {
        case Moment::Kind::comes: come(moment.id); return;
        case Moment::Kind::reaches: go_on(moment.id); return;
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
        const auto mine = std::ranges::equal_range(pieces_.tasks, position, {}, &Task::position);
        for (auto task = mine.begin(); task != mine.end(); ++task)
            if (task->waits == 0)
                ready_.push_back(static_cast<TaskId>(task - pieces_.tasks.begin()));
    }

    // An eager piece goes when its send can and is taken when it is there and its receive can;
    // others go when both can, and are taken at once.
    void meet(MessageId id) {
        if (++sides_[id] < 2)
            return;
        if (pieces_.messages[id].eager)
            work(pieces_.messages[id].recv);
        else
            starting_.push_back(id);
    }

    // Whatever the processor has to do for a task, behind what it has to do already.
    void work(TaskId task) {
        const Task &here = pieces_.tasks[task];
        if (here.seconds == 0) {
            complete(task);
            return;
        }
        double &free = processor_free_[here.position];
        free = std::max(free, now_) + here.seconds;
        foresee(free, Moment::Kind::worked, task);
    }

    void complete(TaskId task) {
        ++done_;
        double &finish = walk_.finish[pieces_.tasks[task].position];
        finish = std::max(finish, now_);
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

    // All that can start at this moment does.
    void settle() {
        for (std::size_t i = 0; i < ready_.size(); ++i) { // it grows meanwhile
            const TaskId task = ready_[i];
            const MessageId message = pieces_.tasks[task].message;
            if (message == kNone)
                work(task);
            else if (pieces_.messages[message].eager && pieces_.tasks[task].sends)
                starting_.push_back(message);
            else
                meet(message);
        }
        ready_.clear();
        // Of those that could at once the first slices go first, as in the engine's order, then the
        // earlier ops.
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

    // Of each message one piece: the others follow at the pace of the port.
    void count_behind() {
        ++settled_;
        for (const MessageId id : starting_) {
            const Message &message = pieces_.messages[id];
            const Task &send = pieces_.tasks[message.send];
            if (message.common == 0 || send.layer != 0)
                continue;
            Started &last = started_[send.position];
            if (last.when == settled_ && last.op != send.op)
                walk_.behind += message.common;
            last = {settled_, send.op};
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
        go_on(id);
    }

    // Through the ports that serve the message at once, up to one that lets it wait.
    void go_on(MessageId id) {
        const Message &message = pieces_.messages[id];
        const double busy = pieces_.tasks[message.send].seconds;
        const Ports ports = ports_of(id);
        for (std::uint8_t &at = port_[id]; at < ports.size;) {
            double &free = port_free_[ports.ids[at]];
            double begin = std::max(free, now_);
            // Others of the host go first; at the other host they have come one after another.
            if (ports.size == kHostPorts && at == 1)
                begin += message.ahead;
            else if (ports.size == kHostPorts && at == 2)
                begin = std::max(free + message.ahead, now_);
            free = begin + busy;
            if (at++ == 0)
                foresee(free, Moment::Kind::left, id);
            if (at == ports.size)
                foresee(free + message.latency, Moment::Kind::there, id);
            else if (begin > now_) {
                foresee(begin, Moment::Kind::reaches, id);
                return;
            }
        }
    }

    const Pieces &pieces_;
    std::vector<State> states_;
    std::vector<std::uint8_t> sides_; // of messages: how many of two things are done (meet)
    std::vector<std::uint8_t> port_;  // of messages: how many they have come to
    std::vector<double> processor_free_, port_free_;
    std::vector<Started> started_; // by position: the last
    std::uint64_t settled_ = 0;
    std::vector<TaskId> ready_;
    std::vector<MessageId> starting_;
    std::priority_queue<Moment, std::vector<Moment>, std::greater<>> moments_;
    double now_ = 0;
    std::uint32_t turn_ = 0;
    std::size_t done_ = 0;
    Walk walk_;
};

} // namespace

double with_common(double seconds, const Walk &walk, const Pieces &pieces, double common) {
    constexpr double kBeforeShare = 0.5; // of what a message takes: its sender's part
    return std::max(seconds + kBeforeShare * common * static_cast<double>(walk.behind),
                    common * pieces.counts.pieces);
}

Walk walk(const Pieces &pieces, double limit, std::span<const double> arrivals) {
    return Player(pieces).run(limit, arrivals);
}

} // namespace stretto::cost
