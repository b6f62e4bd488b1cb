// SPDX-License-Identifier: BSD-3-Clause
#include "cost/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/status.hpp"
#include "cost/piece_order.hpp"
#include "cost/slicing.hpp"
#include "cost/symmetry_classes.hpp"
#include "schedule/access.hpp"
#include "schedule/check.hpp"

namespace stretto::cost {

using schedule::is_message;
using schedule::Op;
using schedule::OpKind;
using schedule::Position;
using schedule::Schedule;

namespace {

[[noreturn]] void refuse(const std::string &what) {
    throw Error(Status::argument, "price: " + what);
}

// A slice in a stream begins with a header and fills whole cache lines (transport/shm/cell.hpp):
// one line more than its bytes.
constexpr double kHeaderBytes = 64;

double slices_of(const Cut &cut) {
    double slices = 0;
    for (const Piece &piece : cut.pieces)
        slices += piece.slices;
    return slices;
}

// On a grid of 2^-50 s: sums of up to 8 s are exact, so what happens at one moment in different
// ways does so to the bit, and is put in order by rule rather than by rounding.
double on_grid(double seconds) {
    return std::nearbyint(seconds * 0x1p50) * 0x1p-50;
}

// One side of a message.  Sorted, the i-th send of a channel stands where its i-th receive does.
struct End {
    std::uint32_t from;    // the representative of the source
    schedule::Position to; // the element that takes the source to the destination
    schedule::Lane lane;
    TaskId first;
    std::uint32_t pieces;
    std::size_t bytes;
    double slices;
    const Link *link;
    Position source, destination;

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
    Builder(const Schedule &schedule, const Slicing &slicing, const IndexedNetwork &network,
            const SymmetryClasses &classes, const Limits &limits)
        : schedule_(schedule), slicing_(slicing), network_(network), classes_(classes),
          limits_(limits), order_(pieces_.tasks, pairs_, limits.work) {}

    // Nothing if the sent pieces differ from the received ones.
    std::optional<Pieces> build() {
        for (const Position p : classes_.representatives()) {
            if (!network_.uniform())
                pieces_.host_of.push_back(network_.host_of(p));
            add(p, schedule_.program(p));
            pieces_.counts.work = blocks_ + pieces_.tasks.size() + pairs_.size();
            if (beyond())
                return std::move(pieces_);
            if (++pieces_.positions == 1 && schedule_.symmetry)
                expect(classes_.representatives().size());
        }
        if (!network_.uniform())
            pieces_.hosts = network_.hosts();
        if (!pair())
            return std::nullopt;
        turn_round();
        return std::move(pieces_);
    }

private:
    void add(Position position, schedule::Program program) {
        schedule::check_program(schedule_, position, program);
        order_.begin(pieces_.positions, program);
        busy_ = 0;
        Price mine;
        std::int32_t index = 0;
        const std::vector<Op> ops =
            program.suffixes.empty() ? std::move(program.ops) : schedule::path(program);
        for (const Op &op : ops) {
            if (op.kind == OpKind::copy)
                check_copy(op);
            blocks_ += op.blocks.size();
            slicing_.cut(op.blocks, cut_);
            const auto first = static_cast<TaskId>(pieces_.tasks.size());
            add_tasks(position, index++, op);
            order_.add(op, cut_, first);
            if (beyond())
                return;
            if (!cut_.pieces.empty())
                add_counts(position, op, first, mine);
        }
        Price &most = pieces_.counts;
        most.messages = std::max(most.messages, mine.messages);
        most.bytes_sent = std::max(most.bytes_sent, mine.bytes_sent);
        most.bytes_received = std::max(most.bytes_received, mine.bytes_received);
        most.bytes_reduced = std::max(most.bytes_reduced, mine.bytes_reduced);
    }

    [[noreturn]] void too_much() const {
        throw Error(Status::unsupported, "price: '" + schedule_.name + "' has more than " +
                                             std::to_string(limits_.work) +
                                             " blocks and pieces; fewer ranks have less");
    }

    // All positions of a symmetric schedule take as much work as the first.  So after the first it
    // is known whether all of them are too much.
    void expect(std::size_t positions) const {
        const std::size_t each = pieces_.tasks.size() + std::max(blocks_, pairs_.size());
        if (each > limits_.work / positions)
            too_much();
    }

    bool beyond() const { return pieces_.counts.seconds > limits_.seconds; }

    void check_copy(const Op &op) const {
        const auto &targets = schedule::targets_of(op);
        for (std::size_t i = 0; i < op.blocks.size(); ++i)
            if (slicing_.bytes(op.blocks[i]) != slicing_.bytes(targets[i]))
                refuse("'" + schedule_.name + "' copies block " + std::to_string(op.blocks[i]) +
                       " to block " + std::to_string(targets[i]) + ", which has another size");
    }

    void add_tasks(Position position, std::int32_t index, const Op &op) {
        if (blocks_ + pieces_.tasks.size() + cut_.pieces.size() >
            std::min<std::size_t>(limits_.work, kNone))
            too_much();
        const Link &link = is_message(op) ? network_.link(position, op.peer) : network_.own();
        const bool sends = op.kind == OpKind::send;
        const double byte =
            sends ? link.byte : static_cast<double>(reductions_of(op)) * link.reduce;
        const double slice = sends ? link.overhead : 0;
        const bool counts = sends && network_.between(position, op.peer);
        const bool occupies = sends && !network_.read(position, op.peer);
        if (counts && !cut_.pieces.empty())
            pieces_.counts.messages_between += classes_.size();
        for (const Piece &piece : cut_.pieces) {
            if (counts)
                pieces_.counts.pieces += piece.slices * classes_.size();
            pieces_.tasks.push_back(
                {.position = pieces_.positions,
                 .op = index,
                 .layer = piece.layer,
                 .sends = sends,
                 .seconds = on_grid(slice * piece.slices + byte * piece.bytes)});
            busy_ += occupies ? pieces_.tasks.back().seconds : 0;
        }
        pieces_.counts.seconds = std::max(pieces_.counts.seconds, busy_);
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
        const Position source = sends ? position : op.peer;
        (sends ? sends_ : recvs_)
            .push_back({.from = classes_.of(source),
                        .to = classes_.difference(sends ? op.peer : position, source),
                        .lane = op.lane,
                        .first = first,
                        .pieces = static_cast<std::uint32_t>(cut_.pieces.size()),
                        .bytes = bytes,
                        .slices = slices_of(cut_),
                        .link = &network_.link(position, op.peer),
                        .source = source,
                        .destination = sends ? op.peer : position});
    }

    bool pair() {
        std::sort(sends_.begin(), sends_.end());
        std::sort(recvs_.begin(), recvs_.end());
        for (std::size_t i = 0; i < std::max(sends_.size(), recvs_.size()); ++i) {
            const bool both = i < sends_.size() && i < recvs_.size();
            if (!both || !sends_[i].meets(recvs_[i]))
                return false;
            pair(sends_[i], recvs_[i]);
        }
        return true;
    }

    void pair(const End &send, const End &recv) {
        const std::size_t bytes = send.bytes / send.pieces;
        const double in_stream =
            std::ceil((static_cast<double>(send.bytes) + kHeaderBytes * send.slices) / send.pieces);
        const bool between = send.link == &network_.as_given().between;
        const double share = network_.share(send.source, send.destination, bytes);
        const auto ports = network_.read(send.source, send.destination) ? Message::Ports::reader
                           : share == 0                                 ? Message::Ports::both
                           : between ? Message::Ports::between_hosts
                                     : Message::Ports::inside_host;
        for (std::uint32_t i = 0; i < send.pieces; ++i) {
            const auto message = static_cast<MessageId>(pieces_.messages.size());
            const TaskId from = send.first + i, to = recv.first + i;
            pieces_.tasks[from].message = pieces_.tasks[to].message = message;
            const double seconds = on_grid(share * pieces_.tasks[from].seconds);
            pieces_.messages.push_back({.send = from,
                                        .recv = to,
                                        .bytes = in_stream,
                                        .latency = on_grid(send.link->latency),
                                        .ports = ports,
                                        .shared_seconds = seconds,
                                        .ahead = seconds * (classes_.together() - 1),
                                        .eager = bytes <= network_.as_given().eager,
                                        .common = between ? classes_.size() : 0});
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
    const IndexedNetwork &network_;
    const SymmetryClasses &classes_;
    const Limits &limits_;
    Pieces pieces_;
    std::vector<PieceOrder::Pair> pairs_;
    PieceOrder order_;
    std::size_t blocks_ = 0; // of all ops so far
    Cut cut_;                // of the op at hand
    double busy_ = 0;        // the out-port of the position at hand, seconds
    std::vector<End> sends_, recvs_;
};

// Whether blocks are equally long, as in symmetric schedules.  If a level has other weights, some
// positions have blocks that others do not have.
bool equal_blocks(const schedule::Partition &partition) {
    return std::all_of(partition.levels().begin(), partition.levels().end(), [](const auto &level) {
        return std::adjacent_find(level.begin(), level.end(), std::not_equal_to<>()) == level.end();
    });
}

std::optional<Pieces> built(const Schedule &schedule, std::size_t count, std::size_t element,
                            std::size_t slice, const IndexedNetwork &network,
                            const SymmetryClasses &classes, const Limits &limits) {
    const std::size_t cells =
        classes.representatives().size() * static_cast<std::size_t>(schedule.blocks());
    const std::size_t most = std::clamp<std::size_t>(kMostCells / cells, 1, kMostSlices);
    const Slicing slicing(schedule, count, element, slice, most, classes.size() > 1);
    return Builder(schedule, slicing, network, classes, limits).build();
}

} // namespace

Pieces pieces_of(const Schedule &schedule, std::size_t count, std::size_t element,
                 std::size_t slice, const IndexedNetwork &network, const Limits &limits, bool all) {
    if (slice == 0 || element == 0)
        refuse("slices and elements have at least one byte");
    schedule::check_frame(schedule);
    if (network.ranks() != schedule.ranks)
        refuse("a schedule of " + std::to_string(schedule.ranks) + " ranks on a network of " +
               std::to_string(network.ranks()));
    const auto build = [&](const SymmetryClasses &classes) {
        return built(schedule, count, element, slice, network, classes, limits);
    };
    // Schedules of this library have the symmetry that they declare.  If another schedule does not,
    // its sent pieces will hardly ever be its received pieces.
    std::optional<Pieces> pieces;
    if (!all && schedule.symmetry && equal_blocks(schedule.partition))
        pieces = build(network.classes(*schedule.symmetry));
    if (!pieces)
        pieces = build(SymmetryClasses::none(schedule.ranks));
    if (!pieces)
        refuse("the messages of '" + schedule.name + "' do not pair; verify() tells which");
    return std::move(*pieces);
}

} // namespace stretto::cost
