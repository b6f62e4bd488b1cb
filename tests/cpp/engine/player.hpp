// SPDX-License-Identifier: BSD-3-Clause
// Plays the plans of all ranks in one thread, on data: each rank runs its steps strictly one after
// another and goes on only where the step finds its operands published and its cell has room, as
// ranks would that wait at every step.  It knows no shared memory, no look-ahead and no time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan.hpp"
#include "schedule/schedule.hpp"

namespace stretto::test {

using engine::Plan;
using engine::Space;
using engine::Step;
using schedule::Position;
using schedule::Schedule;

class Player {
public:
    using Element = std::uint32_t; // sums are exact, whatever the order

    Player(const Schedule &schedule, const engine::PlanOptions &options, bool in_place)
        : schedule_(schedule), options_(options), in_place_(in_place),
          bounds_(schedule.partition.bounds(options.count)) {
        for (Position p = 0; p < schedule.ranks; ++p) {
            plans_.push_back(engine::compile(schedule, p, options));
            ranks_.emplace_back(*plans_.back());
            std::vector<Element> &input = ranks_.back().input;
            input.assign(options.count, 0xdead);
            for (schedule::Block b = 0; b < schedule.blocks(); ++b)
                if (const auto atom = schedule.contract.start(p, b))
                    for (std::size_t i = 0; i < length(b); ++i)
                        input[first(b) + i] = contribution(*atom, i);
            ranks_.back().output = in_place ? input : std::vector<Element>(options.count, 0xbad);
        }
    }

    const std::vector<std::unique_ptr<const Plan>> &plans() const { return plans_; }

    // What is wrong; "" if nothing is.
    std::string play(unsigned seed) {
        std::minstd_rand random(seed);
        std::size_t stuck = 0;
        for (std::size_t p = random() % ranks_.size(); stuck < ranks_.size() && wrong_.empty();) {
            const std::size_t most = random() % 8 == 0 ? ~std::size_t{0} : 1 + random() % 5;
            std::size_t steps = 0;
            while (steps < most && !ranks_[p].over() && wrong_.empty() && step(p))
                ++steps;
            stuck = steps == 0 ? stuck + 1 : 0;
            p = stuck != 0 ? (p + 1) % ranks_.size() : random() % ranks_.size();
        }
        for (std::size_t p = 0; p < ranks_.size() && wrong_.empty(); ++p)
            if (!ranks_[p].over())
                wrong_ = "rank " + std::to_string(p) + " is stuck in step " +
                         std::to_string(ranks_[p].next) + " of tile " +
                         std::to_string(ranks_[p].tile);
        if (wrong_.empty())
            check_results();
        return wrong_;
    }

private:
    struct Rank {
        explicit Rank(const Plan &plan)
            : whole(&plan), tiles(plan.tiles ? plan.tiles->count + 1 : 1),
              scratch(plan.scratch_bytes) {}
        const Plan &plan() const {
            return whole->tiles && tile == whole->tiles->count ? *whole->tiles->last : *whole;
        }
        std::size_t shift() const {
            return whole->tiles && tile < whole->tiles->count ? tile * whole->tiles->stride : 0;
        }
        transport::Extent base() const {
            return whole->tiles ? whole->tiles->own * tile : transport::Extent{};
        }
        bool over() const { return tile == tiles; }

        const Plan *whole;
        std::uint32_t tiles, tile = 0, next = 0;
        std::vector<Element> input, output;
        std::vector<std::byte> scratch;
    };
    // What a cell holds, and who still has to take it: rank, tile, step.
    struct Cell {
        transport::Extent begin;
        std::vector<Element> data;
        std::set<std::tuple<std::int32_t, std::uint32_t, std::uint32_t>> readers;
    };

    static Element contribution(const schedule::Atom &atom, std::size_t i) {
        const auto x = static_cast<Element>(atom.from * 1'000'003 + atom.block * 7919) +
                       static_cast<Element>(i) * 2'654'435'761u;
        return x ^ (x >> 15);
    }
    std::size_t first(schedule::Block b) const { return bounds_[static_cast<std::size_t>(b)]; }
    std::size_t length(schedule::Block b) const {
        return bounds_[static_cast<std::size_t>(b) + 1] - first(b);
    }

    // Positions in the stream of `rank` during this tile of ours.
    std::uint64_t at(const Rank &me, std::int32_t rank, std::uint64_t offset) const {
        const Plan &whole = *me.whole;
        return offset + (whole.tiles
                             ? me.tile * whole.tiles->cell_bytes[static_cast<std::size_t>(rank)]
                             : 0);
    }

    std::byte *memory(Rank &rank, Space space, std::size_t offset) {
        if (space == Space::scratch)
            return rank.scratch.data() + offset;
        std::vector<Element> &buffer =
            space == Space::input && !in_place_ ? rank.input : rank.output;
        return reinterpret_cast<std::byte *>(buffer.data()) + rank.shift() + offset;
    }

    bool step(std::size_t p) {
        Rank &rank = ranks_[p];
        const Plan &plan = rank.plan();
        if (rank.next == plan.steps.size()) {
            ++rank.tile;
            rank.next = 0;
            return true;
        }
        const Step &step = plan.steps[rank.next];
        const auto me = static_cast<std::int32_t>(p);
        for (std::uint32_t k = 0; k < step.operands; ++k)
            if (const auto &operand = plan.operands[step.first_operand + k];
                operand.space == Space::cell &&
                !cells_[operand.rank].contains(at(rank, operand.rank, operand.offset)))
                return false;
        if (step.publishes && !room(me, rank.base() + step.place, step.stored))
            return false;
        const std::size_t elements = step.length / sizeof(Element);
        std::vector<Element> sum(elements, 0), operand_data(elements);
        for (std::uint32_t k = 0; k < step.operands; ++k) {
            const auto &operand = plan.operands[step.first_operand + k];
            if (operand.space == Space::cell)
                take(operand.rank, at(rank, operand.rank, operand.offset),
                     {me, rank.tile, rank.next}, operand_data);
            else
                std::memcpy(operand_data.data(), memory(rank, operand.space, operand.offset),
                            step.length);
            for (std::size_t i = 0; i < elements; ++i)
                sum[i] += operand_data[i];
        }
        if (step.has_result && !(step.local_copy && in_place_))
            std::memcpy(memory(rank, step.result_space, step.result_offset), sum.data(),
                        step.length);
        if (step.publishes)
            publish(rank, me, step, std::move(sum));
        ++rank.next;
        return true;
    }

    void take(std::int32_t owner, std::uint64_t position,
              const std::tuple<std::int32_t, std::uint32_t, std::uint32_t> &reader,
              std::vector<Element> &data) {
        Cell &cell = cells_[owner].at(position);
        if (cell.readers.erase(reader) != 1)
            wrong_ = "a cell is meant for another step than the one that takes it";
        if (cell.data.size() != data.size())
            wrong_ = "a cell is not as long as what takes it";
        else
            data = cell.data;
        if (cell.readers.empty())
            cells_[owner].erase(position);
    }

    void publish(const Rank &rank, std::int32_t me, const Step &step, std::vector<Element> data) {
        const Plan &plan = rank.plan();
        const transport::Extent begin = rank.base() + step.place;
        Cell &cell = cells_[me][begin.cells];
        cell.begin = begin;
        cell.data = std::move(data);
        for (std::uint32_t r = 0; r < step.readers; ++r) {
            const engine::StepReader &reader = plan.readers[step.first_reader + r];
            cell.readers.emplace(reader.rank, rank.tile, reader.step);
            if (step.zero_copy_write != engine::ZeroCopy::never)
                check_destination(rank, step, reader);
        }
    }

    // Where a publisher would store right into the output of a reader.
    void check_destination(const Rank &rank, const Step &step, const engine::StepReader &reader) {
        const Plan &whole = *plans_[static_cast<std::size_t>(reader.rank)];
        const Plan &theirs =
            whole.tiles && rank.tile == whole.tiles->count ? *whole.tiles->last : whole;
        const Step &copy = theirs.steps[reader.step];
        if (copy.result_space != Space::output || copy.operands != 1 ||
            copy.result_offset != reader.result_offset || copy.length != step.length)
            wrong_ = "a result would be stored elsewhere than its reader wants it";
    }

    // Nobody has yet to take what lies a ring before the end of the new cell.
    bool room(std::int32_t me, const transport::Extent &place, std::size_t stored) {
        const transport::Extent end = place + transport::extent(stored);
        return std::ranges::all_of(cells_[me], [&](const auto &each) {
            const transport::Extent &begin = each.second.begin;
            return begin.cells + options_.ring_bytes >= end.cells &&
                   begin.bulk + options_.ring_bytes >= end.bulk;
        });
    }

    void check_results() {
        std::map<schedule::Block, std::vector<schedule::Atom>> atoms; // by input block
        for (Position p = 0; p < schedule_.ranks; ++p)
            for (schedule::Block b = 0; b < schedule_.blocks(); ++b)
                if (const auto atom = schedule_.contract.start(p, b))
                    if (auto &known = atoms[atom->block];
                        std::ranges::find(known, *atom) == known.end())
                        known.push_back(*atom);
        std::map<std::pair<schedule::Block, Position>, std::vector<Element>> right; // by goal
        for (Position p = 0; p < schedule_.ranks; ++p)
            for (schedule::Block b = 0; b < schedule_.blocks(); ++b) {
                const auto goal = schedule_.contract.end(p, b);
                if (!goal)
                    continue;
                auto &sum = right[{goal->block, goal->from.value_or(-1)}];
                if (sum.empty()) {
                    sum.assign(length(b), 0);
                    for (const schedule::Atom &atom : atoms[goal->block])
                        for (std::size_t i = 0;
                             i < sum.size() && atom.from == goal->from.value_or(atom.from); ++i)
                            sum[i] += contribution(atom, i);
                }
                const Element *got = ranks_[static_cast<std::size_t>(p)].output.data() + first(b);
                if (!std::equal(sum.begin(), sum.end(), got))
                    wrong_ =
                        "rank " + std::to_string(p) + " has a wrong block " + std::to_string(b);
            }
        for (const auto &[rank, cells] : cells_)
            if (!cells.empty())
                wrong_ = "a cell was never taken";
    }

    const Schedule &schedule_;
    const engine::PlanOptions options_;
    const bool in_place_;
    const std::vector<std::size_t> bounds_; // elements
    std::vector<std::unique_ptr<const Plan>> plans_;
    std::deque<Rank> ranks_;
    std::map<std::int32_t, std::map<std::uint64_t, Cell>> cells_; // by rank, place in its stream
    std::string wrong_;
};

} // namespace stretto::test
