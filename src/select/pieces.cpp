// SPDX-License-Identifier: BSD-3-Clause
#include "select/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/status.hpp"
#include "schedule/access.hpp"
#include "schedule/check.hpp"
#include "select/piece_order.hpp"
#include "select/slicing.hpp"

namespace stretto::select {

using schedule::Op;
using schedule::OpKind;
using schedule::Position;
using schedule::Schedule;

namespace {

[[noreturn]] void refuse(const std::string &what) {
    throw Error(Status::argument, "price: " + what);
}

// On a grid of 2^-50 s: sums of up to 8 s are exact, so what happens at one moment in different
// ways does so to the bit, and is put in order by rule rather than by rounding.
double on_grid(double seconds) {
    return std::ldexp(std::nearbyint(std::ldexp(seconds, 50)), -50);
}

// Hosts, numbered from 0.
struct Placement {
    Placement(const Topology &given, Position ranks) : topology(given) {
        for (const Link &link : {given.inside, given.between})
            for (const double value : {link.latency, link.overhead, link.byte, link.reduce})
                if (!(value >= 0) || !std::isfinite(value))
                    refuse("a link has " + std::to_string(value) +
                           "; its times are finite and not negative");
        if (given.host_of.empty())
            return;
        if (given.host_of.size() != static_cast<std::size_t>(ranks))
            refuse(std::to_string(given.host_of.size()) + " positions have hosts, of " +
                   std::to_string(ranks) + "; give one for each, or none");
        std::map<int, std::uint32_t> numbers;
        for (const int host : given.host_of)
            host_of.push_back(
                numbers.emplace(host, static_cast<std::uint32_t>(numbers.size())).first->second);
        hosts = static_cast<std::uint32_t>(numbers.size());
        alone = hosts == host_of.size();
    }

    bool uniform() const { return alone || hosts == 1; }
    bool between(Position a, Position b) const {
        return alone ||
               host_of[static_cast<std::size_t>(a)] != host_of[static_cast<std::size_t>(b)];
    }
    const Link &link(Position a, Position b) const {
        return between(a, b) ? topology.between : topology.inside;
    }
    const Link &own() const { return alone ? topology.between : topology.inside; }

    const Topology &topology;
    std::vector<std::uint32_t> host_of;
    std::uint32_t hosts = 0;
    bool alone = true; // every position
};

// One side of a message.  Sorted, the i-th send of a channel stands where its i-th receive does.
struct End {
    // Source, destination, lane.  Where one position is walked: blocks, nothing, lane.
    std::int64_t from, to, lane;
    TaskId first;
    std::uint32_t pieces;
    std::size_t bytes;
    const Link *link;

    auto channel() const { return std::tie(from, to, lane); }
    bool operator<(const End &other) const {
        return std::tie(from, to, lane, first) <
               std::tie(other.from, other.to, other.lane, other.first);
    }
    bool meets(const End &other) const {
        return channel() == other.channel() && pieces == other.pieces && bytes == other.bytes;
    }
};

class Builder {
public:
    Builder(const Schedule &schedule, const Slicing &slicing, const Placement &placement,
            std::size_t work, bool one)
        : schedule_(schedule), slicing_(slicing), placement_(placement), work_(work), one_(one),
          order_(pieces_.tasks, pairs_, work) {}

    // Nothing if one position is to be walked and what it sends is not what it receives.
    std::optional<Pieces> build() {
        pieces_.positions = one_ ? 1 : static_cast<std::uint32_t>(schedule_.ranks);
        if (!one_ && !placement_.uniform()) {
            pieces_.hosts = placement_.hosts;
            pieces_.host_of = placement_.host_of;
        }
        for (Position p = 0; p < static_cast<Position>(pieces_.positions); ++p)
            add(p, schedule_.program(p));
        if (!pair())
            return std::nullopt;
        turn_round();
        return std::move(pieces_);
    }

private:
    void add(Position position, const schedule::Program &program) {
        schedule::check_program(schedule_, position, program);
        order_.begin(static_cast<std::uint32_t>(position), program.open);
        Price mine;
        std::int32_t index = 0;
        for (const Op &op : schedule::path(program)) {
            if (op.kind == OpKind::copy)
                check_copy(op);
            slicing_.cut(op.blocks, cut_);
            const auto first = static_cast<TaskId>(pieces_.tasks.size());
            add_tasks(position, index++, op);
            order_.add(op, cut_, first);
            if (!cut_.pieces.empty())
                add_counts(position, op, first, mine);
        }
        Price &most = pieces_.counts;
        most.messages = std::max(most.messages, mine.messages);
        most.bytes_sent = std::max(most.bytes_sent, mine.bytes_sent);
        most.bytes_received = std::max(most.bytes_received, mine.bytes_received);
        most.bytes_reduced = std::max(most.bytes_reduced, mine.bytes_reduced);
    }

    void check_copy(const Op &op) const {
        const auto &targets = schedule::targets_of(op);
        for (std::size_t i = 0; i < op.blocks.size(); ++i)
            if (slicing_.bytes(op.blocks[i]) != slicing_.bytes(targets[i]))
                refuse("'" + schedule_.name + "' copies block " + std::to_string(op.blocks[i]) +
                       " to block " + std::to_string(targets[i]) + ", which has another size");
    }

    void add_tasks(Position position, std::int32_t index, const Op &op) {
        if (pieces_.tasks.size() + cut_.pieces.size() > std::min<std::size_t>(work_, kNone))
            throw Error(Status::unsupported, "price: '" + schedule_.name + "' has more than " +
                                                 std::to_string(work_) +
                                                 " pieces; fewer ranks have less");
        const Link &link = is_message(op) ? placement_.link(position, op.peer) : placement_.own();
        const bool sends = op.kind == OpKind::send;
        const double byte =
            sends ? link.byte : static_cast<double>(reductions_of(op)) * link.reduce;
        const double slice = sends ? link.overhead : 0;
        const bool counts = sends && placement_.between(position, op.peer);
        for (const Piece &piece : cut_.pieces) {
            if (counts)
                pieces_.counts.pieces += piece.slices * (one_ ? schedule_.ranks : 1);
            pieces_.tasks.push_back(
                {.position = static_cast<std::uint32_t>(position),
                 .op = index,
                 .layer = piece.layer,
                 .sends = sends,
                 .seconds = on_grid(slice * piece.slices + byte * piece.bytes)});
        }
    }

    static bool is_message(const Op &op) {
        return op.kind == OpKind::send || op.kind == OpKind::recv;
    }

    // Of each byte.
    static std::size_t reductions_of(const Op &op) {
        if (op.kind == OpKind::reduce)
            return op.sources.size() - 1;
        return op.kind == OpKind::recv && op.from != schedule::kNoSlot ? 1 : 0;
    }

    void add_counts(Position position, const Op &op, TaskId first, Price &mine) {
        const std::size_t bytes = slicing_.bytes(op.blocks);
        mine.bytes_reduced += bytes * reductions_of(op);
        if (!is_message(op))
            return;
        const bool sends = op.kind == OpKind::send;
        mine.messages += sends ? 1 : 0;
        (sends ? mine.bytes_sent : mine.bytes_received) += bytes;
        End end{position,
                op.peer,
                op.lane,
                first,
                static_cast<std::uint32_t>(cut_.pieces.size()),
                bytes,
                &placement_.link(position, op.peer)};
        if (!sends)
            std::swap(end.from, end.to);
        if (one_) {
            end.from = static_cast<std::int64_t>(op.blocks.size());
            end.to = 0;
        }
        (sends ? sends_ : recvs_).push_back(end);
    }

    bool pair() {
        std::sort(sends_.begin(), sends_.end());
        std::sort(recvs_.begin(), recvs_.end());
        for (std::size_t i = 0; i < std::max(sends_.size(), recvs_.size()); ++i) {
            const bool both = i < sends_.size() && i < recvs_.size();
            if (both && sends_[i].meets(recvs_[i]))
                pair(sends_[i], recvs_[i]);
            else if (one_)
                return false;
            else
                refuse("the messages of '" + schedule_.name +
                       "' do not pair; verify() tells which");
        }
        return true;
    }

    void pair(const End &send, const End &recv) {
        for (std::uint32_t i = 0; i < send.pieces; ++i) {
            const auto message = static_cast<MessageId>(pieces_.messages.size());
            const TaskId from = send.first + i, to = recv.first + i;
            pieces_.tasks[from].message = pieces_.tasks[to].message = message;
            pieces_.messages.push_back(
                {.send = from,
                 .recv = to,
                 .latency = on_grid(send.link->latency),
                 .host_ports = pieces_.hosts > 0 && send.link == &placement_.topology.between,
                 .eager = send.bytes / send.pieces <= placement_.topology.eager});
        }
    }

    // From pairs to the list of each task.
    void turn_round() {
        std::vector<std::size_t> &at = pieces_.dependents_at;
        at.assign(pieces_.tasks.size() + 1, 0);
        for (const auto &[earlier, later] : pairs_)
            ++at[earlier + 1];
        for (std::size_t task = 0; task + 1 < at.size(); ++task)
            at[task + 1] += at[task];
        pieces_.dependents.resize(pairs_.size());
        std::vector<std::size_t> next(at.begin(), at.end() - 1);
        for (const auto &[earlier, later] : pairs_)
            pieces_.dependents[next[earlier]++] = later;
    }

    const Schedule &schedule_;
    const Slicing &slicing_;
    const Placement &placement_;
    const std::size_t work_;
    const bool one_;
    Pieces pieces_;
    std::vector<PieceOrder::Pair> pairs_;
    PieceOrder order_;
    Cut cut_; // of the op at hand
    std::vector<End> sends_, recvs_;
};

// As symmetric schedules are: a level of other weights has blocks that some have and others do not.
bool equal_blocks(const schedule::Partition &partition) {
    return std::all_of(partition.levels().begin(), partition.levels().end(), [](const auto &level) {
        return std::adjacent_find(level.begin(), level.end(), std::not_equal_to<>()) == level.end();
    });
}

} // namespace

Pieces pieces_of(const Schedule &schedule, std::size_t count, std::size_t element,
                 std::size_t slice, const Topology &topology, std::size_t work) {
    if (slice == 0 || element == 0)
        refuse("slices and elements have at least one byte");
    schedule::check_frame(schedule);
    const Placement placement(topology, schedule.ranks);
    if (schedule.symmetric && placement.uniform() && equal_blocks(schedule.partition)) {
        const Slicing slicing(schedule, count, element, slice, kMostSlices, true);
        if (auto pieces = Builder(schedule, slicing, placement, work, true).build())
            return std::move(*pieces);
    }
    const std::size_t cells =
        static_cast<std::size_t>(schedule.ranks) * static_cast<std::size_t>(schedule.blocks());
    const std::size_t most = std::clamp<std::size_t>(kMostCells / cells, 1, kMostSlices);
    const Slicing slicing(schedule, count, element, slice, most, false);
    return *Builder(schedule, slicing, placement, work, false).build();
}

} // namespace stretto::select
