// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/compose.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/index.hpp"
#include "base/status.hpp"
#include "schedule/access.hpp"

namespace stretto::algorithms {

namespace {

constexpr std::int32_t kNoPart = -1;

[[noreturn]] void refuse(const std::string &what) {
    throw Error(Status::argument, "compose: " + what);
}

// For all positions; if they are alike, the first one stands for all.
Lane lanes_of(const Schedule &schedule) {
    Lane lanes = 0;
    for (Position p = 0; p < (schedule.symmetry ? 1 : schedule.ranks); ++p) {
        const schedule::Program program = schedule.program(p);
        if (program.open != schedule::Window{})
            refuse(schedule.name + " has a window, which counts the ops of a whole program");
        for (const Op &op : program.ops)
            lanes = std::max(lanes, op.lane + 1);
    }
    return lanes;
}

void check(const Part &part, Position ranks, Block blocks) {
    const Schedule &schedule = *part.schedule;
    if (schedule.token)
        refuse(schedule.name + " has a token");
    if (part.positions.size() != at(schedule.ranks) || part.blocks.size() != at(schedule.blocks()))
        refuse(schedule.name + " has " + std::to_string(schedule.ranks) + " positions and " +
               std::to_string(schedule.blocks()) + " blocks; " +
               std::to_string(part.positions.size()) + " and " +
               std::to_string(part.blocks.size()) + " have a place");
    for (const Position p : part.positions)
        if (p < 0 || p >= ranks)
            refuse("there is no position " + std::to_string(p));
    for (const Blocks &list : part.blocks)
        for (const Block block : list)
            if (block < 0 || block >= blocks)
                refuse("there is no block " + std::to_string(block));
}

// The stages, and the place of each position in them.
class Composition {
public:
    Composition(Position ranks, Block blocks, std::vector<Stage> stages)
        : stages_(std::move(stages)), seats_(stages_.size()), lanes_(stages_.size(), 0) {
        Lane before = 0;
        std::map<const Schedule *, Lane> known; // parts are often of few schedules
        for (std::size_t s = 0; s < stages_.size(); ++s) {
            lanes_[s] = before;
            seats_[s].resize(at(ranks));
            Lane lanes = 0;
            for (std::size_t i = 0; i < stages_[s].size(); ++i) {
                const Part &part = stages_[s][i];
                check(part, ranks, blocks);
                seat(seats_[s], part, static_cast<std::int32_t>(i));
                const auto [found, added] = known.try_emplace(part.schedule.get());
                if (added)
                    found->second = lanes_of(*part.schedule);
                lanes = std::max(lanes, found->second);
            }
            before += lanes;
        }
    }

    void append(Ops &ops, Position position) const {
        for (std::size_t s = 0; s < stages_.size(); ++s)
            if (const Seat seat = seats_[s][at(position)]; seat.part != kNoPart)
                append(ops, stages_[s][at(seat.part)], seat.own, lanes_[s]);
    }

private:
    struct Seat {
        std::int32_t part = kNoPart; // of the stage
        Position own = 0;            // the position there
    };

    static void seat(std::vector<Seat> &seats, const Part &part, std::int32_t number) {
        for (std::size_t own = 0; own < part.positions.size(); ++own) {
            Seat &seat = seats[at(part.positions[own])];
            if (seat.part != kNoPart)
                refuse("position " + std::to_string(part.positions[own]) +
                       " is in two parts of a stage");
            seat = {number, static_cast<Position>(own)};
        }
    }

    static Blocks mapped(const Part &part, const Blocks &blocks) {
        Blocks result;
        for (const Block block : blocks)
            result.insert(result.end(), part.blocks[at(block)].begin(),
                          part.blocks[at(block)].end());
        return result;
    }

    static void append(Ops &ops, const Part &part, Position own, Lane lane) {
        std::int32_t groups = 0; // of the stages before
        for (const Op &op : ops)
            groups = std::max(groups, op.group);
        // The index of each op of the part; for an op that is left out, the ops that it is `after`.
        std::vector<std::vector<std::int32_t>> places;
        for (Op &op : part.schedule->program(own).ops) {
            std::vector<std::int32_t> after;
            for (const std::int32_t earlier : op.after)
                after.insert(after.end(), places[at(earlier)].begin(), places[at(earlier)].end());
            op.after = std::move(after);
            op.blocks = mapped(part, op.blocks);
            op.targets = mapped(part, op.targets);
            if (op.blocks.empty()) {
                places.push_back(std::move(op.after));
                continue;
            }
            places.push_back({static_cast<std::int32_t>(ops.size())});
            if (schedule::is_message(op)) {
                op.peer = part.positions[at(op.peer)];
                op.lane += lane;
            }
            if (op.group > 0)
                op.group += groups;
            ops.push_back(std::move(op));
        }
    }

    std::vector<Stage> stages_;
    std::vector<std::vector<Seat>> seats_; // by stage and position
    std::vector<Lane> lanes_;              // by stage: its first
};

} // namespace

Schedule compose(Collective collective, const Problem &problem, Partition partition,
                 std::optional<Group> symmetry, std::vector<Stage> stages) {
    const auto whole =
        std::make_shared<const Composition>(problem.ranks, partition.blocks(), std::move(stages));
    Schedule made = assemble(collective, problem, std::move(partition), std::move(symmetry),
                             [whole](Ops &ops, Position p) { whole->append(ops, p); });
    made.topology = problem.topology;
    return made;
}

} // namespace stretto::algorithms
