// SPDX-License-Identifier: BSD-3-Clause
#include "cost/predict.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace stretto::cost {

namespace {

using schedule::Block;
using schedule::Op;
using schedule::OpKind;
using schedule::Position;
using schedule::Schedule;
using schedule::Slot;

constexpr std::size_t kMostSlices = 8; // more would not change the picture
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr double kNever = std::numeric_limits<double>::infinity();

using Bounds = std::vector<std::size_t>; // of blocks, in bytes

std::size_t bytes_of(const Bounds &bounds, Block block) {
    const auto b = static_cast<std::size_t>(block);
    return bounds[b + 1] - bounds[b];
}

std::size_t bytes_of(const Bounds &bounds, const std::vector<Block> &blocks) {
    std::size_t bytes = 0;
    for (const Block block : blocks)
        bytes += bytes_of(bounds, block);
    return bytes;
}

// Walks through the program of one rank and counts the bytes that its ops move, over all streams.
class Streams {
public:
    explicit Streams(const Bounds &bounds) : bounds_(bounds) {}

    std::size_t moved_by(const Op &op) {
        const std::size_t moved = op.kind == OpKind::send ? published_by(op) : written_by(op);
        last_ = op;
        return moved;
    }

private:
    std::size_t published_by(const Op &op) {
        std::size_t moved = 0;
        for (const Block block : op.blocks)
            if (published_.emplace(op.from, block).second)
                moved += bytes_of(bounds_, block) * (fresh_.contains({op.from, block}) ? 1 : 2);
        return moved;
    }

    std::size_t written_by(const Op &op) {
        for (const Block block : op.targets.empty() ? op.blocks : op.targets) {
            published_.erase({op.into, block});
            fresh_.emplace(op.into, block);
        }
        return bytes_of(bounds_, op.blocks) * streams(op);
    }

    std::size_t streams(const Op &op) const {
        if (op.kind == OpKind::reduce)
            return op.sources.size() + 1;
        if (op.kind == OpKind::copy)
            return 2;
        if (op.from == schedule::kNoSlot) // the op that uses scratch reads it in place
            return op.into == schedule::kWork ? 2 : 0;
        const bool one_more_operand = last_.kind == OpKind::recv &&
                                      last_.from != schedule::kNoSlot && last_.into == op.into &&
                                      op.from == op.into && last_.blocks == op.blocks;
        return one_more_operand ? 1 : 3;
    }

    const Bounds &bounds_;
    std::set<std::pair<Slot, Block>> published_; // as they are now
    std::set<std::pair<Slot, Block>> fresh_;     // written in this call
    Op last_;
};

// One slice of an op.
struct Task {
    double seconds = 0;
    std::size_t publishes = kNone, takes = kNone; // messages, numbered over all ranks
};

struct Tasks {
    std::vector<std::vector<Task>> of_ranks;
    std::vector<std::size_t> readers; // of messages
    std::size_t slices = 1;           // of each task
    double total = 0;                 // seconds, of all slices of all tasks
};

Tasks tasks_of(const Schedule &schedule, const Bounds &bounds, std::size_t slice, double byte,
               double operand) {
    Tasks tasks;
    std::size_t longest = 0;
    for (Block block = 0; block < schedule.blocks(); ++block)
        longest = std::max(longest, bytes_of(bounds, block));
    tasks.slices = std::clamp<std::size_t>((longest + slice - 1) / slice, 1, kMostSlices);
    const auto slices = static_cast<double>(tasks.slices);

    using Channel = std::tuple<Position, Position, schedule::Lane>; // from, to
    std::map<std::pair<Channel, std::size_t>, std::size_t> names;
    for (Position p = 0; p < schedule.ranks; ++p) {
        Streams streams(bounds);
        std::map<Channel, std::size_t> messages; // so far
        std::vector<Task> &mine = tasks.of_ranks.emplace_back();
        for (const Op &op : schedule::path(schedule.program(p))) {
            Task task;
            task.seconds = static_cast<double>(streams.moved_by(op)) * byte / slices;
            const bool sends = op.kind == OpKind::send, receives = op.kind == OpKind::recv;
            if ((sends || receives) && bytes_of(bounds, op.blocks) > 0) {
                const Channel channel =
                    sends ? Channel{p, op.peer, op.lane} : Channel{op.peer, p, op.lane};
                const auto name = names.try_emplace({channel, messages[channel]++}, names.size());
                (sends ? task.publishes : task.takes) = name.first->second;
                tasks.readers.resize(names.size());
                tasks.readers[name.first->second] = static_cast<std::size_t>(std::get<1>(channel));
                task.seconds += receives ? operand : 0;
            }
            tasks.total += task.seconds * slices;
            mine.push_back(task);
        }
    }
    return tasks;
}

// Plays the tasks: each rank does one at a time, of the lowest slice that can go on.
class Player {
public:
    Player(const Tasks &tasks, double latency)
        : tasks_(tasks), latency_(latency), seen_(tasks.readers.size() * tasks.slices, kNever),
          next_(tasks.of_ranks.size() * tasks.slices), free_(tasks.of_ranks.size()) {}

    double run() {
        for (std::size_t rank = 0; rank < free_.size(); ++rank)
            turns_.emplace(0.0, rank);
        while (!turns_.empty()) {
            const auto [now, rank] = turns_.top();
            turns_.pop();
            if (now < free_[rank])
                continue; // it works, and is looked at again when it is done
            if (const double end = step(rank, now); end > now) {
                free_[rank] = end;
                turns_.emplace(end, rank);
            }
        }
        for (std::size_t rank = 0; rank < free_.size(); ++rank)
            for (std::size_t slice = 0; slice < tasks_.slices; ++slice)
                if (next(rank, slice) < tasks_.of_ranks[rank].size())
                    return kNever;
        return *std::max_element(free_.begin(), free_.end());
    }

private:
    // When the next task that takes time ends; `now` if there is none to do.
    double step(std::size_t rank, double now) {
        const std::vector<Task> &mine = tasks_.of_ranks[rank];
        for (std::size_t slice = 0; slice < tasks_.slices; ++slice)
            for (std::size_t &at = next(rank, slice); at < mine.size();) {
                const Task &task = mine[at];
                if (task.takes != kNone && seen(task.takes, slice) > now)
                    break; // the rank that publishes this message looks at this rank again
                const double end = now + task.seconds;
                if (task.publishes != kNone) {
                    seen(task.publishes, slice) = end + latency_;
                    turns_.emplace(end + latency_, tasks_.readers[task.publishes]);
                }
                ++at;
                if (end > now)
                    return end;
            }
        return now;
    }

    std::size_t &next(std::size_t rank, std::size_t slice) {
        return next_[rank * tasks_.slices + slice];
    }
    double &seen(std::size_t message, std::size_t slice) {
        return seen_[message * tasks_.slices + slice];
    }

    using Turn = std::pair<double, std::size_t>; // a time and a rank

    const Tasks &tasks_;
    const double latency_;
    std::vector<double> seen_;      // by message and slice: when its reader can take it
    std::vector<std::size_t> next_; // by rank and slice: the task to do
    std::vector<double> free_;      // by rank: when its last task ends
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
};

} // namespace

Prediction predict(const Schedule &schedule, std::size_t count, std::size_t element,
                   std::size_t slice, const Machine &machine) {
    Prediction result;
    result.costs = schedule::account(schedule, count, element);
    Bounds bounds = schedule.partition.bounds(count);
    for (std::size_t &bound : bounds)
        bound *= element;
    const auto ranks = static_cast<std::size_t>(schedule.ranks);
    const double byte =
        2 * ranks * bounds.back() > machine.cache ? machine.far_byte : machine.cached_byte;
    const std::size_t crowd = (ranks + machine.cores - 1) / machine.cores; // ranks of a core
    const double latency = crowd > 1 ? machine.turn * static_cast<double>(crowd) : machine.latency;
    const Tasks tasks = tasks_of(schedule, bounds, slice, byte, machine.operand);
    result.seconds = Player(tasks, latency).run();
    // A shared core is idle only while all of its ranks wait for a turn.
    if (crowd > 1)
        result.seconds =
            std::max(result.seconds, latency * static_cast<double>(result.costs.steps) +
                                         tasks.total / static_cast<double>(machine.cores));
    return result;
}

} // namespace stretto::cost
