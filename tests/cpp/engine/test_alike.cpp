// SPDX-License-Identifier: BSD-3-Clause
// One position stands for all: the same passes, order and plans as where all are lowered.
#include "doctest.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "algorithms/cases.hpp"
#include "engine/alike.hpp"
#include "engine/order.hpp"
#include "engine/plan.hpp"

using namespace stretto;
using namespace stretto::engine;
using schedule::Position;
using schedule::Schedule;
using test::Algorithm;
using test::Choice;

namespace {

constexpr std::size_t kElement = 4;

LowerOptions options_for(const Schedule &schedule, std::size_t elements, std::size_t slice) {
    LowerOptions options;
    options.element = kElement;
    options.count = schedule.partition.fitting(elements);
    options.slice = slice;
    options.commutes = true;
    return options;
}

// An operand: how far its owner is, which publish, which space, how long; and the reader the same.
using Ends = std::multiset<std::tuple<Position, std::int32_t, Space, std::size_t>>;

Ends operands(const Pass &pass, Position position, const schedule::Symmetry &symmetry) {
    Ends ends;
    for (const Operand &operand : pass.operands)
        ends.emplace(operand.owner < 0 ? -1 : symmetry.difference(operand.owner, position),
                     operand.publish, operand.range.space, operand.range.length);
    return ends;
}

Ends readers(const Publish &publish, Position position, const schedule::Symmetry &symmetry) {
    Ends ends;
    for (const Reader &reader : publish.readers)
        ends.emplace(symmetry.difference(reader.position, position), reader.pass, Space::cell,
                     static_cast<std::size_t>(reader.send));
    return ends;
}

// Whether `one` says of `position` what `all` says.
bool same(const Lowered &one, const Lowered &all, Position position) {
    const schedule::Symmetry &symmetry = *one.symmetry;
    const auto p = static_cast<std::size_t>(position);
    const auto space = [](const Pass &pass) {
        return pass.result ? static_cast<int>(pass.result->space) : -1;
    };
    return std::ranges::equal(
               one.passes[0], all.passes[p],
               [&](const Pass &a, const Pass &b) {
                   return a.gone == b.gone &&
                          (a.gone ||
                           (operands(a, one.representative, symmetry) ==
                                operands(b, position, symmetry) &&
                            std::tuple(a.publish, a.op, a.layer, a.length, a.local_copy,
                                       space(a)) == std::tuple(b.publish, b.op, b.layer, b.length,
                                                               b.local_copy, space(b)) &&
                            std::ranges::equal(a.after, b.after) &&
                            (position != one.representative || a.result == b.result)));
               }) &&
           std::ranges::equal(one.publishes[0], all.publishes[p],
                              [&](const Publish &a, const Publish &b) {
                                  return a.length == b.length && a.pass == b.pass &&
                                         readers(a, one.representative, symmetry) ==
                                             readers(b, position, symmetry);
                              });
}

// The same with the blocks of each op in the order in which one position stands for all.
Schedule in_alike_order(const Schedule &schedule) {
    Schedule ordered = schedule;
    ordered.program = [schedule](Position position) {
        schedule::Program program = schedule.program(position);
        program.ops = path_alike(schedule, position);
        return program;
    };
    return ordered;
}

// All algorithms that say so.
template<class Check>
void each_alike(Check &&check) {
    for (const Algorithm &algorithm : algorithms::all())
        for (const Position ranks : {2, 3, 4, 5, 7, 8, 13, 16}) {
            if (!algorithm.runs(ranks))
                continue;
            for (const Choice &choice : test::choices(algorithm, ranks)) {
                const Schedule schedule = algorithms::make(choice, ranks);
                if (!schedule.alike)
                    continue;
                CAPTURE(test::label(choice, ranks, 0));
                check(schedule);
            }
        }
    // Compositions over hosts that are alike.
    for (const std::string hosts : {"2x2", "3x2", "cyclic:2x3", "4x3", "cyclic:4x2", "2x5", "1x3"})
        for (const std::string pair :
             {"intra=direct,inter=direct", "intra=direct,inter=ring", "intra=ring,inter=ring",
              "intra=ring,inter=direct", "intra=direct,inter=one_shot",
              "intra=direct,inter=recursive_doubling", "intra=ring,inter=dissemination"}) {
            const schedule::Topology topology = schedule::Topology::parse(hosts);
            const Choice choice =
                algorithms::parse(schedule::Collective::allreduce, "hierarchical(" + pair + ")");
            const Schedule schedule = algorithms::make(choice, topology.ranks(), 0, {}, topology);
            CHECK(schedule.alike == schedule.symmetry.has_value());
            if (!schedule.alike)
                continue; // a hypercube of three hosts
            CAPTURE(schedule.name);
            CAPTURE(hosts);
            check(schedule);
        }
}

// Runs the plans of all ranks on tables of what each step has taken, strictly one after another.
// True if all come to the end with every cell read from where it was published.
class Replay {
public:
    Replay(const Schedule &schedule, const PlanOptions &options) : ring_(options.ring_bytes) {
        for (Position p = 0; p < schedule.ranks; ++p)
            plans_.push_back(compile(schedule, p, options));
        next_.assign(plans_.size(), 0);
        published_.resize(plans_.size());
    }

    bool run() {
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t p = 0; p < plans_.size(); ++p)
                while (next_[p] < plans_[p]->steps.size() && step(p))
                    moved = true;
        }
        for (std::size_t p = 0; p < plans_.size(); ++p)
            if (next_[p] < plans_[p]->steps.size())
                return false;
        return wrong_ == 0;
    }
    const std::vector<std::unique_ptr<const Plan>> &plans() const { return plans_; }

private:
    // What a cell holds and who still has to take it.
    struct Cell {
        const Step *step;
        std::set<std::pair<std::int32_t, std::uint32_t>> readers; // rank, its step
    };

    bool step(std::size_t p) {
        const Plan &plan = *plans_[p];
        const std::uint32_t index = next_[p];
        const Step &step = plan.steps[index];
        const auto me = static_cast<std::int32_t>(p);
        for (std::uint32_t k = 0; k < step.operands; ++k) {
            const StepOperand &operand = plan.operands[step.first_operand + k];
            if (operand.space != Space::cell)
                continue;
            const auto &cells = published_[static_cast<std::size_t>(operand.rank)];
            if (!cells.contains(operand.offset))
                return false;
        }
        if (step.publishes && !room(p, step))
            return false;
        for (std::uint32_t k = 0; k < step.operands; ++k) {
            const StepOperand &operand = plan.operands[step.first_operand + k];
            if (operand.space != Space::cell)
                continue;
            Cell &cell = published_[static_cast<std::size_t>(operand.rank)].at(operand.offset);
            wrong_ += cell.readers.erase({me, index}) != 1; // it is meant for this very step
            wrong_ += cell.step->length != step.length;
            if (cell.readers.empty())
                published_[static_cast<std::size_t>(operand.rank)].erase(operand.offset);
        }
        if (step.publishes) {
            Cell &cell = published_[p][step.place.cells];
            cell.step = &step;
            for (std::uint32_t r = 0; r < step.readers; ++r) {
                const StepReader &reader = plan.readers[step.first_reader + r];
                cell.readers.emplace(reader.rank, reader.step);
                if (step.zero_copy_write != ZeroCopy::never)
                    check_destination(step, reader);
            }
        }
        ++next_[p];
        return true;
    }

    // Nobody has yet to take what lies a ring before the end of the new cell.
    bool room(std::size_t p, const Step &step) const {
        const transport::Extent end = step.place + transport::extent(step.stored);
        for (const auto &[at, cell] : published_[p])
            if (cell.step->place.cells + ring_ < end.cells ||
                cell.step->place.bulk + ring_ < end.bulk)
                return false;
        return true;
    }

    void check_destination(const Step &step, const StepReader &reader) {
        const Plan &theirs = *plans_[static_cast<std::size_t>(reader.rank)];
        const Step &copy = theirs.steps[reader.step];
        wrong_ += copy.result_space != Space::output || copy.operands != 1 ||
                  copy.result_offset != reader.result_offset || copy.length != step.length;
    }

    const std::uint64_t ring_;
    std::vector<std::unique_ptr<const Plan>> plans_;
    std::vector<std::uint32_t> next_;
    int wrong_ = 0; // of what each step takes, or of where it is wanted
    std::vector<std::map<std::uint64_t, Cell>> published_; // by rank, place
};

} // namespace

TEST_CASE("if positions are alike, one of them stands for all") {
    each_alike([](const Schedule &schedule) {
        const auto blocks = static_cast<std::size_t>(schedule.blocks());
        for (const bool fuse : {true, false})
            for (const std::size_t each : {1u, 1000u, 2500u}) {
                LowerOptions options = options_for(schedule, blocks * each, 4096);
                options.fuse = fuse;
                const Lowered all = lower(in_alike_order(schedule), options);
                const std::optional<Lowered> one =
                    lower_alike(schedule, schedule.ranks / 2, options);
                if (!one) { // short blocks travel together
                    CHECK(each < 2500);
                    continue;
                }
                for (Position p = 0; p < schedule.ranks; ++p)
                    CHECK(same(*one, all, p));
                const std::optional<Order> of_one = order(*one, {}), of_all = order(all, {});
                REQUIRE(of_one.has_value());
                REQUIRE(of_all.has_value());
                for (std::size_t p = 0; p < all.passes.size(); ++p) {
                    CHECK(of_one->sequence[0] == of_all->sequence[p]);
                    CHECK(of_one->place[0] == of_all->place[p]);
                }
            }
    });
}

TEST_CASE("blocks that differ by an element, or are empty") {
    const Schedule ring =
        algorithms::make(algorithms::parse(schedule::Collective::allreduce, "ring"), 5);
    CHECK(lower_alike(ring, 0, options_for(ring, 5, 4096)));
    CHECK(lower_alike(ring, 0, options_for(ring, 9, 4096)));
    CHECK_FALSE(lower_alike(ring, 0, options_for(ring, 4, 4096)));
    CHECK_FALSE(lower_alike(ring, 0, options_for(ring, 0, 4096)));
    // The last slice of a block has what it has more than the least: never one of nothing.
    for (std::size_t count = 5 * 1024; count < 5 * 1025; ++count) {
        const std::optional<Lowered> one = lower_alike(ring, 2, options_for(ring, count, 4096));
        REQUIRE(one);
        for (const Pass &pass : one->passes[0]) {
            CHECK(pass.length == (count % 5 == 0 ? 4096u : 4100u));
            for (const Operand &operand : pass.operands)
                CHECK((operand.range.length == 4096 || operand.range.length == 4100));
        }
    }
}

TEST_CASE("the plans of all ranks fit together, whatever the count and however small the rings") {
    each_alike([](const Schedule &schedule) {
        const auto blocks = static_cast<std::size_t>(schedule.blocks());
        for (const std::size_t ring :
             {std::size_t{4096}, std::size_t{1} << 15, std::size_t{1} << 21})
            for (const std::size_t count : {blocks - 1, blocks, blocks + 1, 3 * blocks + 2,
                                            std::size_t{10'007}, std::size_t{130'003}}) {
                PlanOptions options;
                options.commutes = true;
                options.commutes = true;
                options.element = kElement;
                options.count = schedule.partition.fitting(count);
                options.ring_bytes = ring;
                CAPTURE(ring);
                CAPTURE(count);
                Replay replay(schedule, options);
                CHECK(replay.run());
                for (const auto &plan : replay.plans()) {
                    CHECK(plan->identity == replay.plans()[0]->identity);
                    CHECK(plan->synchronizing == replay.plans()[0]->synchronizing);
                    CHECK(std::ranges::equal(plan->cell_bytes, replay.plans()[0]->cell_bytes));
                }
            }
    });
}

TEST_CASE("the passes of a position are the same whether or not it stands for all") {
    each_alike([](const Schedule &schedule) {
        Schedule apart = in_alike_order(schedule);
        apart.alike = false;
        PlanOptions options;
        options.commutes = true;
        options.count = static_cast<std::size_t>(schedule.blocks()) * 20'000;
        options.ring_bytes = std::size_t{1} << 28; // or positions may take turns at a full one
        for (Position p = 0; p < schedule.ranks; ++p) {
            const auto one = compile(schedule, p, options), all = compile(apart, p, options);
            CHECK(one->identity == all->identity);
            CHECK(one->synchronizing == all->synchronizing);
            CHECK(one->scratch_bytes == all->scratch_bytes);
            CHECK(one->ready_prefix == all->ready_prefix);
            REQUIRE(one->steps.size() == all->steps.size());
            for (std::size_t i = 0; i < one->steps.size(); ++i) {
                const Step &a = one->steps[i], &b = all->steps[i];
                REQUIRE(std::tuple(a.result_offset, a.place.cells, a.place.bulk, a.length, a.stored,
                                   a.operands, a.readers, a.predecessors, a.result_space,
                                   a.zero_copy_read, a.zero_copy_write, a.has_result, a.publishes,
                                   a.local_copy) ==
                        std::tuple(b.result_offset, b.place.cells, b.place.bulk, b.length, b.stored,
                                   b.operands, b.readers, b.predecessors, b.result_space,
                                   b.zero_copy_read, b.zero_copy_write, b.has_result, b.publishes,
                                   b.local_copy));
            }
            CHECK(std::ranges::equal(one->operands, all->operands, [](auto &a, auto &b) {
                return std::tuple(a.offset, a.rank, a.space) ==
                       std::tuple(b.offset, b.rank, b.space);
            }));
            CHECK(std::ranges::equal(one->readers, all->readers, [](auto &a, auto &b) {
                return std::tuple(a.rank, a.step, a.result_offset, a.message, a.mark) ==
                       std::tuple(b.rank, b.step, b.result_offset, b.message, b.mark);
            }));
            CHECK(std::ranges::equal(one->before, all->before));
        }
    });
}
