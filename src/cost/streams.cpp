// SPDX-License-Identifier: BSD-3-Clause
#include "cost/streams.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <queue>
#include <utility>

namespace stretto::cost {

namespace {

using Round = std::int64_t;
using Turn = std::pair<std::int64_t, TaskId>; // layer and op, task: the lowest goes first
using Ready = std::priority_queue<Turn, std::vector<Turn>, std::greater<>>;

// The cells of all positions, not in order yet.
Streams cells_of(const Pieces &pieces, double ring) {
    Streams found;
    found.ring = ring;
    found.cell_of.assign(pieces.tasks.size(), kNone);
    std::vector<double> sent(pieces.positions, 0);
    for (const Message &message : pieces.messages) {
        const TaskId by = pieces.tasks[message.send].publisher;
        CellId &cell = found.cell_of[by];
        if (cell == kNone) {
            cell = static_cast<CellId>(found.cells.size());
            const std::uint32_t position = pieces.tasks[by].position;
            found.cells.push_back({.position = position, .bytes = message.bytes});
            sent[position] += message.bytes;
        }
        found.cells[cell].readers.push_back(message.recv);
    }
    if (std::ranges::all_of(sent, [ring](double bytes) { return bytes <= ring; }))
        found.cells.clear();
    return found;
}

// One pass of each position in a round.
class Rounds {
public:
    Rounds(const Pieces &pieces, Streams streams)
        : pieces_(pieces), found_(std::move(streams)), waits_(pieces.tasks.size()),
          unread_(found_.cells.size()), positions_(pieces.positions) {
        found_.turn.resize(pieces.tasks.size());
        found_.stream.resize(pieces.positions);
        found_.sequence.resize(pieces.positions);
        for (CellId cell = 0; cell < unread_.size(); ++cell)
            unread_[cell] = static_cast<std::uint32_t>(found_.cells[cell].readers.size());
        for (TaskId task = 0; task < waits_.size(); ++task)
            waits_[task] = pieces.tasks[task].waits + (receives(task) || follows(task) ? 1 : 0);
        for (TaskId task = 0; task < waits_.size(); ++task)
            if (waits_[task] == 0)
                settle(task);
        run_free();
    }

    // Empty if the positions wait for each other.
    Streams play() {
        constexpr Round kLatencyRounds = 2; // until a cell is counted on
        std::size_t left = pieces_.tasks.size();
        for (Round round = 0; done_ < left; ++round) {
            while (!arrivals_.empty() && arrivals_.front().first <= round) {
                const CellId cell = arrivals_.front().second;
                arrivals_.pop_front();
                for (const TaskId reader : found_.cells[cell].readers)
                    satisfy(reader);
            }
            run_free();
            now_ = round + kLatencyRounds;
            bool moved = false;
            for (State &state : positions_)
                moved = step(state) || moved;
            if (moved)
                narrow_ = true;
            else if (!arrivals_.empty())
                round = std::max(round, arrivals_.front().first - 1);
            else if (!std::exchange(narrow_, false))
                return {};
        }
        return std::move(found_);
    }

private:
    struct State {
        Ready quiet, publishing;    // ready tasks, those that publish apart
        std::deque<CellId> in_ring; // oldest first
        double tail = 0, head = 0;  // of the live part of the stream
    };

    bool receives(TaskId task) const {
        return pieces_.tasks[task].message != kNone && !pieces_.tasks[task].sends;
    }
    TaskId send_of(TaskId receive) const {
        return pieces_.messages[pieces_.tasks[receive].message].send;
    }
    // A send of data that an earlier send publishes.
    bool follows(TaskId task) const {
        const TaskId by = pieces_.tasks[task].publisher;
        return by != kNone && by != task && pieces_.tasks[by].sends;
    }
    // What takes no pass of its own: a send of a cell that another task publishes, or the end of an
    // op that others wait for.
    bool is_free(TaskId task) const {
        const Task &here = pieces_.tasks[task];
        return found_.cell_of[task] == kNone &&
               (here.sends || (here.message == kNone && here.seconds == 0));
    }

    void satisfy(TaskId task) {
        if (--waits_[task] == 0)
            settle(task);
    }

    void settle(TaskId task) {
        if (is_free(task)) {
            free_.push_back(task);
            return;
        }
        const Task &here = pieces_.tasks[task];
        State &state = positions_[here.position];
        (found_.cell_of[task] != kNone ? state.publishing : state.quiet)
            .push({(std::int64_t{here.layer} << 32) + here.op, task});
    }

    void run_free() {
        for (std::size_t i = 0; i < free_.size(); ++i) // run() appends
            run(free_[i]);
        free_.clear();
    }

    // New data fill at most half a ring, or all positions of a ring could wait for one another.
    bool room(State &state, TaskId task) {
        while (!state.in_ring.empty() && unread_[state.in_ring.front()] == 0) {
            state.tail = found_.cells[state.in_ring.front()].end;
            state.in_ring.pop_front();
        }
        const double capacity = receives(task) ? found_.ring : found_.ring / 2;
        const double end = state.head + found_.cells[found_.cell_of[task]].bytes;
        // If all wait for room, pieces are too long for the ring.  The engine cuts thinner ones.
        return !narrow_ || end <= state.tail + capacity;
    }

    bool step(State &state) {
        const bool may_publish =
            !state.publishing.empty() && room(state, state.publishing.top().second);
        if (state.quiet.empty() && !may_publish)
            return false;
        const bool publishes =
            may_publish && (state.quiet.empty() || state.publishing.top() < state.quiet.top());
        Ready &ready = publishes ? state.publishing : state.quiet;
        const TaskId task = ready.top().second;
        ready.pop();
        run(task);
        run_free();
        return true;
    }

    void run(TaskId task) {
        const Task &here = pieces_.tasks[task];
        ++done_;
        std::vector<TaskId> &sequence = found_.sequence[here.position];
        found_.turn[task] = static_cast<std::uint32_t>(sequence.size());
        sequence.push_back(task);
        if (receives(task))
            --unread_[found_.cell_of[pieces_.tasks[send_of(task)].publisher]];
        if (const CellId cell = found_.cell_of[task]; cell != kNone) {
            State &state = positions_[here.position];
            state.head += found_.cells[cell].bytes;
            found_.cells[cell].end = state.head;
            state.in_ring.push_back(cell);
            found_.stream[here.position].push_back(cell);
            arrivals_.emplace_back(now_, cell);
            for (const TaskId reader : found_.cells[cell].readers)
                if (const TaskId send = send_of(reader); follows(send))
                    satisfy(send);
        }
        for (std::size_t i = pieces_.dependents_at[task]; i < pieces_.dependents_at[task + 1]; ++i)
            satisfy(pieces_.dependents[i]);
    }

    const Pieces &pieces_;
    Streams found_;
    std::vector<std::uint32_t> waits_;  // by task: tasks, and the cell that it reads
    std::vector<std::uint32_t> unread_; // by cell: readers that have not taken it
    std::vector<State> positions_;
    std::vector<TaskId> free_;                      // that can run at once
    std::deque<std::pair<Round, CellId>> arrivals_; // cells, and from when they are counted on
    Round now_ = 0;                                 // from when what is published now is
    bool narrow_ = true;                            // the ring limits what is published
    std::size_t done_ = 0;
};

} // namespace

Streams streams_of(const Pieces &pieces, double ring) {
    Streams cells = cells_of(pieces, ring);
    return cells.empty() ? cells : Rounds(pieces, std::move(cells)).play();
}

} // namespace stretto::cost
