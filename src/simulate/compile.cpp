// SPDX-License-Identifier: BSD-3-Clause
#include "simulate/compile.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/status.hpp"
#include "schedule/check.hpp"
#include "schedule/dependencies.hpp"
#include "simulate/pairing.hpp"

namespace stretto::simulate {

namespace {

using schedule::Block;
using schedule::Op;
using schedule::OpKind;
using schedule::Position;
using schedule::Program;
using schedule::Schedule;

// For each op of a program, the earlier ops that it is ordered after.
using Before = std::vector<std::vector<std::int32_t>>;

constexpr std::uint32_t kMostCosts = 1u << 31;

template<class T>
bool all_equal(const std::vector<T> &values) {
    return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// One position may stand for all, as the header says.
bool alike(const Schedule &schedule, const Problem &problem) {
    if (!schedule.symmetry || schedule.ranks == 1 || schedule.token || problem.sharing.any() ||
        problem.mode == Mode::ordered || problem.watch || !all_equal(problem.arrivals))
        return false;
    const std::vector<std::size_t> bounds = schedule.partition.bounds(problem.count);
    for (std::size_t b = 2; b < bounds.size(); ++b)
        if (bounds[b] - bounds[b - 1] != bounds[1] - bounds[0])
            return false;
    return true;
}

class Compiler {
public:
    // `one_for_all`: the first position alone.
    Compiler(const Schedule &schedule, const Problem &problem, bool one_for_all)
        : schedule_(schedule), problem_(problem), bounds_(schedule.partition.bounds(problem.count)),
          arbiter_(schedule.token && schedule.token->arbiter >= 0) {
        model_.one_for_all = one_for_all;
    }

    Model run() {
        model_.first.push_back(0);
        for (Position p = 0; p < positions(); ++p)
            add(p, schedule_.program(p));
        pairing_.pair(model_);
        return std::move(model_);
    }

private:
    Position positions() const { return model_.one_for_all ? 1 : schedule_.ranks; }

    void add(Position position, const Program &program) {
        schedule::check_program(schedule_, position, program);
        std::vector<Op> joined;
        if (!program.suffixes.empty())
            joined = schedule::path(program, problem_.token_value);
        const std::vector<Op> &ops = program.suffixes.empty() ? program.ops : joined;
        reserve(ops.size());
        model_.gate.push_back(model_.first.back() + static_cast<TaskId>(all_equal(program.suffixes)
                                                                            ? ops.size()
                                                                            : program.ops.size()));
        sends_.clear();
        recvs_.clear();
        for (const Op &op : ops)
            add(position, op);
        pairing_.add(sends_, recvs_);
        model_.first.push_back(next_task());
        if (problem_.mode == Mode::ordered)
            add_order(schedule::dependencies(ops, program.open));
    }

    // Reserves room for all positions, assuming that they have as many ops as those so far.
    // Growing step by step would take half as much memory again, and twice while it moves.
    void reserve(std::size_t ops) {
        const std::size_t all = model_.tasks.size() + ops;
        if (all > model_.tasks.capacity())
            model_.tasks.reserve(all / model_.first.size() * static_cast<std::size_t>(positions()) +
                                 all);
    }

    void add(Position position, const Op &op) {
        const std::uint32_t cost = cost_of(bytes_of(op.blocks), reductions_of(op));
        const bool travels = model_.costs[cost].bytes > 0 || arbiter_;
        const bool sends = op.kind == OpKind::send;
        if (sends && travels)
            sends_.push_back({op.peer, op.lane, next_task()});
        if (op.kind == OpKind::recv && travels)
            recvs_.push_back({source_of(op), op.lane, next_task()});
        next_task();
        model_.tasks.push_back({.position = position, .message = kNone, .sends = sends, .cost = 0});
        model_.tasks.back().cost = cost & (kMostCosts - 1);
        if (problem_.watch)
            model_.blocks.push_back(op.blocks.empty() ? 0 : op.blocks.front());
    }

    // If one position stands for all: its receives match its own sends.
    Position source_of(const Op &recv) const {
        return model_.one_for_all ? schedule_.symmetry->difference(0, recv.peer) : recv.peer;
    }

    // For each byte.
    static std::size_t reductions_of(const Op &op) {
        if (op.kind == OpKind::reduce)
            return op.sources.size() - 1;
        return op.kind == OpKind::recv && op.from != schedule::kNoSlot ? 1 : 0;
    }

    std::size_t bytes_of(const std::vector<Block> &blocks) const {
        std::size_t elements = 0;
        for (const Block block : blocks) {
            const auto b = static_cast<std::size_t>(block);
            elements += bounds_[b + 1] - bounds_[b];
        }
        return elements * problem_.element;
    }

    std::uint32_t cost_of(std::size_t bytes, std::size_t reductions) {
        std::uint32_t &last = last_[std::min(reductions, last_.size() - 1)];
        if (last < model_.costs.size() && model_.costs[last].bytes == bytes &&
            model_.costs[last].reductions == reductions)
            return last;
        const auto next = static_cast<std::uint32_t>(model_.costs.size());
        const auto [found, is_new] = of_bytes_[reductions].emplace(bytes, next);
        if (is_new) {
            const auto [alpha, beta, gamma] = problem_.network;
            model_.costs.push_back(
                {.bytes = bytes,
                 .reductions = reductions,
                 .transfer = to_ticks(alpha + beta * static_cast<double>(bytes), "a message"),
                 .work = to_ticks(gamma * static_cast<double>(reductions * bytes), "a reduction")});
        }
        return last = found->second;
    }

    // Reverses the lists.
    //
    //   before      op 0: -   op 1: 0   op 2: 0 1
    //   dependents  op 0: 1 2   op 1: 2   op 2: -       edges 1 2 2, from 0 2 3 3
    void add_order(const Before &before) {
        Order &order = model_.order;
        const TaskId first = model_.first[model_.first.size() - 2];
        const std::size_t base = order.edges.size();
        std::vector<std::uint32_t> end(before.size() + 1, 0); // end[i + 1]: of the list of op i
        for (const std::vector<std::int32_t> &earlier : before) {
            order.waits.push_back(static_cast<std::uint32_t>(earlier.size()));
            for (const std::int32_t op : earlier)
                ++end[static_cast<std::size_t>(op) + 1];
        }
        for (std::size_t i = 0; i < before.size(); ++i)
            end[i + 1] += end[i];
        order.base.push_back(base);
        order.from.insert(order.from.end(), end.begin(), end.end());
        order.edges.resize(base + end.back());
        for (std::size_t i = before.size(); i-- > 0;)
            for (const std::int32_t op : before[i])
                order.edges[base + --end[static_cast<std::size_t>(op) + 1]] =
                    first + static_cast<TaskId>(i);
    }

    TaskId next_task() const {
        if (model_.tasks.size() >= kNone)
            throw Error(Status::argument, "simulate: '" + schedule_.name + "' has more than " +
                                              std::to_string(kNone) + " ops; use fewer ranks");
        return static_cast<TaskId>(model_.tasks.size());
    }

    const Schedule &schedule_;
    const Problem &problem_;
    std::vector<std::size_t> bounds_;
    bool arbiter_;
    Model model_;
    Pairing pairing_;
    std::vector<Pairing::End> sends_, recvs_; // of one position
    // Costs by reductions and bytes; kept are those of the last op that reduces nothing and of the
    // last that does.
    std::unordered_map<std::size_t, std::unordered_map<std::size_t, std::uint32_t>> of_bytes_;
    std::array<std::uint32_t, 2> last_ = {kNone, kNone};
};

} // namespace

Model compile(const Schedule &schedule, const Problem &problem) {
    schedule::check_frame(schedule);
    if (alike(schedule, problem)) {
        try {
            return Compiler(schedule, problem, true).run();
        } catch (const Error &) {
            // If all positions are played, the error is more precise.
        }
    }
    return Compiler(schedule, problem, false).run();
}

} // namespace stretto::simulate
