// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/verify.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/index.hpp"
#include "base/mix.hpp"
#include "base/status.hpp"
#include "schedule/check.hpp"
#include "schedule/expression.hpp"
#include "schedule/machine.hpp"

namespace stretto::schedule {

namespace {

using Node = Expressions::Node;

struct Held {
    Position position;
    Block block;
    Goal goal;
    Node node;
};

// Checks the contract, block by block, at the end of a play.
class Judge {
public:
    Judge(const Schedule &schedule, Expressions &trees)
        : schedule_(schedule), trees_(trees), contributors_(at(schedule.blocks())) {
        for (Position p = 0; p < schedule.ranks; ++p)
            for (Block b = 0; b < schedule.blocks(); ++b)
                if (const auto atom = schedule.contract.start(p, b)) {
                    contributors_[at(atom->block)].push_back(atom->from);
                    check_size(p, b, atom->block, "starts");
                }
        for (auto &positions : contributors_) {
            std::sort(positions.begin(), positions.end());
            positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
        }
    }

    // Throws Error(argument) that names the first block that breaks the contract.
    std::vector<Held> ends(const Machine &machine) const {
        std::vector<Held> found;
        for (Position p = 0; p < schedule_.ranks; ++p)
            for (Block b = 0; b < schedule_.blocks(); ++b)
                if (const auto goal = schedule_.contract.end(p, b)) {
                    check_size(p, b, goal->block, "ends");
                    const Held end{p, b, *goal, machine.result(p, b)};
                    check(end);
                    found.push_back(end);
                }
        return found;
    }

    // The canonical tree: a range of positions is split at the largest power of two below its size.
    //
    //   6 positions:  ((0 1) (2 3)) (4 5)
    Node canonical(Block block) const {
        const std::vector<Position> &positions = contributors_[at(block)];
        const std::function<Node(std::size_t, std::size_t)> tree = [&](std::size_t begin,
                                                                       std::size_t size) {
            if (size == 1)
                return trees_.leaf({positions[begin], block});
            const std::size_t left = std::bit_floor(size - 1);
            return trees_.pair(tree(begin, left), tree(begin + left, size - left));
        };
        return tree(0, positions.size());
    }

private:
    void check(const Held &end) const {
        const std::string place = "position " + std::to_string(end.position) + " ends with block " +
                                  std::to_string(end.block);
        if (end.node == kUndefined)
            fail(place + " undefined");
        if (end.goal.from) {
            if (end.node != trees_.leaf({*end.goal.from, end.goal.block}))
                fail(place + " other than input block " + std::to_string(end.goal.block) +
                     " of position " + std::to_string(*end.goal.from));
            return;
        }
        if (trees_.block(end.node) != end.goal.block)
            fail(place + " made of input block " + std::to_string(trees_.block(end.node)) +
                 " instead of " + std::to_string(end.goal.block));
        const Position missing = trees_.first_missing(end.node, contributors_[at(end.goal.block)]);
        if (missing >= 0)
            fail(place + " without the contribution of position " + std::to_string(missing));
    }

    void check_size(Position position, Block block, Block input, const char *when) const {
        if (!schedule_.partition.same_size(block, input))
            fail("the contract " + std::string(when) + " block " + std::to_string(block) +
                 " of position " + std::to_string(position) + " as input block " +
                 std::to_string(input) +
                 ", but they differ in size for some counts; see "
                 "Partition::equal");
    }

    [[noreturn]] static void fail(const std::string &what) { throw Error(Status::argument, what); }

    const Schedule &schedule_;
    Expressions &trees_;
    std::vector<std::vector<Position>> contributors_; // per input block, ascending
};

std::int32_t values_of(const Schedule &schedule) {
    return schedule.token ? schedule.token->values : 1;
}

// Adds the properties of one path's results to the verdict.
void derive(const std::vector<Held> &ends, const Judge &judge, const Expressions &trees,
            Verdict &verdict) {
    std::map<Block, Node> canonical, bits; // per input block that is reduced
    for (const Held &end : ends) {
        verdict.tree = mix(verdict.tree, trees.hash(end.node));
        if (end.goal.from)
            continue;
        const Block block = end.goal.block;
        if (!canonical.contains(block))
            canonical[block] = judge.canonical(block);
        verdict.canonical = verdict.canonical && end.node == canonical[block];
        verdict.order_preserving = verdict.order_preserving && trees.ascending(end.node);
        const Node form = trees.commuted(end.node);
        verdict.consistent =
            verdict.consistent && bits.try_emplace(block, form).first->second == form;
    }
}

bool costlier(const Accounting &a, const Accounting &b) {
    const auto key = [](const Accounting &accounting) {
        return std::tuple(accounting.steps, accounting.most.blocks_sent,
                          accounting.total.blocks_sent);
    };
    return key(a) > key(b);
}

std::vector<Held> prove(const Schedule &schedule, std::int32_t value, const Judge &judge,
                        Expressions &trees) {
    const Dataflow flow(schedule, value);
    Machine machine(schedule.contract, flow, trees);
    flow.play(machine);
    return judge.ends(machine);
}

} // namespace

Verdict verify(const Schedule &schedule) {
    Verdict verdict;
    std::string path;
    try {
        check_frame(schedule);
        Expressions trees(schedule.ranks);
        const Judge judge(schedule, trees);
        verdict.order_preserving = verdict.consistent = verdict.canonical = true;
        for (std::int32_t value = 0; value < values_of(schedule); ++value) {
            path = schedule.token ? "token value " + std::to_string(value) + ": " : "";
            derive(prove(schedule, value, judge, trees), judge, trees, verdict);
            Accounting cost = account(schedule, value);
            if (value == 0 || costlier(cost, verdict.accounting))
                verdict.accounting = std::move(cost);
        }
    } catch (const Error &error) {
        verdict = {};
        verdict.failure = schedule.name + ": " + path + error.what();
        return verdict;
    }
    verdict.ok = true;
    return verdict;
}

bool equivalent(const Schedule &a, const Schedule &b) {
    if (a.ranks != b.ranks || a.blocks() != b.blocks() || values_of(a) != values_of(b))
        return false;
    try {
        Expressions trees(a.ranks);
        const Judge judge_a(a, trees), judge_b(b, trees);
        for (std::int32_t value = 0; value < values_of(a); ++value) {
            const auto ends_a = prove(a, value, judge_a, trees);
            const auto ends_b = prove(b, value, judge_b, trees);
            const auto same = [](const Held &x, const Held &y) {
                return x.position == y.position && x.block == y.block && x.node == y.node;
            };
            if (!std::equal(ends_a.begin(), ends_a.end(), ends_b.begin(), ends_b.end(), same))
                return false;
        }
    } catch (const Error &) {
        return false;
    }
    return true;
}

} // namespace stretto::schedule
