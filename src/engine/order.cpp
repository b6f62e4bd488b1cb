// SPDX-License-Identifier: BSD-3-Clause
#include "engine/order.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <queue>

namespace stretto::engine {

using transport::Extent;
using transport::extent;

namespace {

using Round = std::int64_t;
// (layer, op or reader) and pass: the lowest goes first.
using Key = std::pair<std::int64_t, std::int32_t>;
using Ready = std::priority_queue<Key, std::vector<Key>, std::greater<>>;

struct PassState {
    std::int32_t waits_local = 0;
    std::int32_t waits_cells = 0;
    std::int32_t waits_grants = 0; // granted: readers of its cell that are not ready for it
    PassIndices before;            // passes that wait for this one
};

struct PositionState {
    std::vector<PassState> passes;
    std::vector<std::int32_t> unread; // by publish: readers that have not taken it
    std::deque<std::int32_t> in_ring; // publishes, oldest first
    Extent tail, head;                // of the live part of the rings, as stream offsets
    Ready quiet, publishing;          // ready passes, those that publish apart
    std::size_t left = 0;             // passes to go
};

struct Arrival { // a cell that can be counted on from a round on
    Round round;
    Reader reader;
    bool operator>(const Arrival &other) const { return round > other.round; }
};

class Player {
public:
    Player(const Lowered &lowered, const OrderOptions &options)
        : lowered_(lowered), options_(options), granted_(options.publishing == Publishing::granted),
          states_(lowered.passes.size()) {
        const std::size_t positions = lowered.passes.size();
        order_.sequence.resize(positions);
        order_.rank_of.resize(positions);
        order_.place.resize(positions);
        for (std::size_t p = 0; p < positions; ++p)
            prepare(p);
        // Readiness can be found only now, since grants cross positions.
        for (std::size_t p = 0; p < positions; ++p)
            for (std::size_t i = 0; i < lowered.passes[p].size(); ++i)
                if (!lowered.passes[p][i].gone)
                    settle_local(p, i);
    }

    std::optional<Order> play() {
        std::size_t left = 0;
        for (const PositionState &state : states_)
            left += state.left;
        for (Round round = 0; left > 0; ++round) {
            deliver(round);
            bool moved = false;
            for (std::size_t p = 0; p < states_.size(); ++p)
                if (step(p, round)) {
                    moved = true;
                    --left;
                }
            if (moved)
                continue;
            if (arrivals_.empty())
                return std::nullopt;
            round = std::max(round, arrivals_.top().round - 1);
        }
        for (std::size_t p = 0; p < states_.size(); ++p)
            order_.total.push_back(states_[p].head);
        return std::move(order_);
    }

private:
    const Pass &pass(std::size_t p, std::size_t i) const { return lowered_.passes[p][i]; }

    void prepare(std::size_t p) {
        PositionState &state = states_[p];
        const std::vector<Pass> &passes = lowered_.passes[p];
        state.passes.resize(passes.size());
        for (const Publish &publish : lowered_.publishes[p])
            state.unread.push_back(static_cast<std::int32_t>(publish.readers.size()));
        order_.rank_of[p].assign(passes.size(), -1);
        order_.place[p].resize(lowered_.publishes[p].size());
        for (std::size_t i = 0; i < passes.size(); ++i) {
            if (passes[i].gone)
                continue;
            ++state.left;
            PassState &mine = state.passes[i];
            mine.waits_local = static_cast<std::int32_t>(passes[i].after.size());
            for (const std::int32_t before : passes[i].after)
                state.passes[static_cast<std::size_t>(before)].before.push_back(
                    static_cast<std::int32_t>(i));
            for (const Operand &operand : passes[i].operands)
                mine.waits_cells += operand.owner >= 0;
            if (granted_ && passes[i].publish >= 0)
                mine.waits_grants = state.unread[static_cast<std::size_t>(passes[i].publish)];
        }
    }

    // A pass whose own predecessors are complete: the publishers of its operands may publish to it.
    void settle_local(std::size_t p, std::size_t i) {
        if (states_[p].passes[i].waits_local > 0)
            return;
        if (granted_)
            for (const Operand &operand : pass(p, i).operands)
                if (operand.owner >= 0) {
                    const std::size_t owner = lowered_.index(operand.owner);
                    const auto writer = static_cast<std::size_t>(
                        lowered_.publishes[owner][static_cast<std::size_t>(operand.publish)].pass);
                    --states_[owner].passes[writer].waits_grants;
                    settle(owner, writer);
                }
        settle(p, i);
    }

    void settle(std::size_t p, std::size_t i) {
        PassState &mine = states_[p].passes[i];
        if (mine.waits_local != 0 || mine.waits_cells > 0 || mine.waits_grants > 0)
            return;
        mine.waits_local = -1; // queued once
        const Pass &what = pass(p, i);
        const Key key{(static_cast<std::int64_t>(what.layer) << 32) + turn(p, what),
                      static_cast<std::int32_t>(i)};
        (what.publish >= 0 ? states_[p].publishing : states_[p].quiet).push(key);
    }

    // The turn of a pass within its layer: its op, or the first reader of its cell.
    std::int64_t turn(std::size_t p, const Pass &what) const {
        if (options_.publishing != Publishing::by_reader || what.publish < 0)
            return what.op;
        const Readers &readers =
            lowered_.publishes[p][static_cast<std::size_t>(what.publish)].readers;
        Position first = std::numeric_limits<Position>::max();
        for (const Reader &reader : readers)
            first = std::min(first, reader.position);
        return first;
    }

    void deliver(Round round) {
        while (!arrivals_.empty() && arrivals_.top().round <= round) {
            const Reader reader = arrivals_.top().reader;
            arrivals_.pop();
            const std::size_t p = lowered_.index(reader.position);
            const auto i = static_cast<std::size_t>(reader.pass);
            --states_[p].passes[i].waits_cells;
            settle(p, i);
        }
    }

    bool room(std::size_t p, const Pass &what) {
        PositionState &state = states_[p];
        while (!state.in_ring.empty()) {
            const auto oldest = static_cast<std::size_t>(state.in_ring.front());
            if (state.unread[oldest] > 0)
                break;
            state.tail = order_.place[p][oldest] + extent(lowered_.publishes[p][oldest].length);
            state.in_ring.pop_front();
        }
        // New data fills at most half a ring.  A pass that forwards a message frees a cell
        // elsewhere and must find room for its own; otherwise all ranks of a ring could wait for
        // one another.  A granted cell waits for no other rank.
        const bool passes_on = std::any_of(what.operands.begin(), what.operands.end(),
                                           [](const Operand &each) { return each.owner >= 0; });
        const std::size_t capacity =
            passes_on || granted_ ? options_.ring_bytes : options_.ring_bytes / 2;
        const auto publish = static_cast<std::size_t>(what.publish);
        const Extent end = state.head + extent(lowered_.publishes[p][publish].length);
        return end.cells <= state.tail.cells + capacity && end.bulk <= state.tail.bulk + capacity;
    }

    bool step(std::size_t p, Round round) {
        PositionState &state = states_[p];
        const bool may_publish =
            !state.publishing.empty() &&
            room(p, pass(p, static_cast<std::size_t>(state.publishing.top().second)));
        if (state.quiet.empty() && !may_publish)
            return false;
        const bool publishes =
            may_publish && (state.quiet.empty() || state.publishing.top() < state.quiet.top());
        Ready &ready = publishes ? state.publishing : state.quiet;
        const auto i = static_cast<std::size_t>(ready.top().second);
        ready.pop();
        run(p, i, round);
        return true;
    }

    void run(std::size_t p, std::size_t i, Round round) {
        PositionState &state = states_[p];
        const Pass &what = pass(p, i);
        order_.rank_of[p][i] = static_cast<std::int32_t>(order_.sequence[p].size());
        order_.sequence[p].push_back(static_cast<std::int32_t>(i));
        --state.left;
        for (const Operand &operand : what.operands)
            if (operand.owner >= 0)
                --states_[lowered_.index(operand.owner)]
                      .unread[static_cast<std::size_t>(operand.publish)];
        if (what.publish >= 0) {
            const auto publish = static_cast<std::size_t>(what.publish);
            order_.place[p][publish] = state.head;
            state.head = state.head + extent(lowered_.publishes[p][publish].length);
            state.in_ring.push_back(what.publish);
            for (const Reader &reader : lowered_.publishes[p][publish].readers)
                arrivals_.push({round + options_.latency, reader});
        }
        for (const std::int32_t next : state.passes[i].before) {
            --state.passes[static_cast<std::size_t>(next)].waits_local;
            settle_local(p, static_cast<std::size_t>(next));
        }
    }

    const Lowered &lowered_;
    const OrderOptions &options_;
    const bool granted_;
    std::vector<PositionState> states_;
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
    Order order_;
};

} // namespace

std::optional<Order> order(const Lowered &lowered, const OrderOptions &options) {
    return Player(lowered, options).play();
}

} // namespace stretto::engine
