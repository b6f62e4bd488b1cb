// SPDX-License-Identifier: BSD-3-Clause
// The generalized allreduce: every group and number of steps, against the paper's counts, and
// against the algorithms that are special cases of it.
#include "doctest.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "algorithms/assemble.hpp"
#include "algorithms/generalized.hpp"
#include "base/status.hpp"
#include "cases.hpp"
#include "refusal.hpp"
#include "schedule/accounting.hpp"
#include "schedule/verify.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::schedule;
using algorithms::Choice;
using algorithms::Generalized;
using algorithms::Group;
using algorithms::Value;
using stretto::test::label;
using stretto::test::message;
using stretto::test::roots;
using ::test::contains;
using ::test::sampled;

namespace {

Schedule made(const std::string &text, Position ranks,
              Collective collective = Collective::allreduce, Position root = 0) {
    return make(algorithms::parse(collective, text), ranks, root);
}

std::string text(const Value &group, std::int64_t r) {
    return "generalized(group=" + algorithms::shown(group) + ",r=" + std::to_string(r) + ")";
}

// All ways to write n as a product, in every order.
std::vector<Value> factorizations(std::int64_t n) {
    std::vector<Value> found;
    for (std::int64_t first = 2; first <= n; ++first)
        if (n % first == 0) {
            if (first == n)
                found.push_back({n});
            for (Value rest : factorizations(n / first)) {
                rest.insert(rest.begin(), first);
                found.push_back(rest);
            }
        }
    return found;
}

std::int64_t steps(std::int64_t order) {
    return algorithms::log2_ceil(static_cast<Position>(order));
}

std::int64_t steps(const Value &group) {
    std::int64_t sum = 0;
    for (const std::int64_t order : group)
        sum += steps(order);
    return sum;
}

// The sizes that P goes through: 7, 4, 2, 1.
std::vector<std::int64_t> halvings(std::int64_t ranks) {
    std::vector<std::int64_t> sizes = {ranks};
    while (sizes.back() > 1)
        sizes.push_back((sizes.back() + 1) / 2);
    return sizes;
}

struct Counts {
    std::int64_t sent, reduced;
};

// What the cyclic group costs every position, in blocks of which there are P: equations (25), (36)
// and (44), where those are exact.
Counts counts(std::int64_t ranks, std::int64_t r) {
    const std::vector<std::int64_t> sizes = halvings(ranks);
    const auto d = static_cast<std::int64_t>(sizes.size()) - 1;
    const std::int64_t kept = sizes[static_cast<std::size_t>(d - r)];
    Counts result{r == d ? ranks * d : 2 * (ranks - 1) + (kept - 1) * (d - 1), 0};
    bool apart = false; // stars and interiors
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
        const std::int64_t from = sizes[i], to = sizes[i + 1];
        const bool even = from % 2 == 0, last = to == 1;
        const std::int64_t interiors = last ? 0 : std::min(ranks, to + kept - 2);
        if (even && !apart)
            result.reduced += last ? kept : std::min(ranks, to + kept - 1);
        else
            result.reduced += interiors + (even ? kept : 0);
        apart = apart || !even;
    }
    return result;
}

} // namespace

TEST_CASE("generalized: every group and every r are proved, with their declared properties") {
    const Position most = sampled() ? 24 : 64;
    int proved = 0;
    for (Position ranks = 2; ranks <= most; ++ranks)
        for (const Value &group : factorizations(ranks))
            for (std::int64_t r = 0; r <= steps(group); ++r) {
                const Choice choice = algorithms::parse(Collective::allreduce, text(group, r));
                const Schedule schedule = make(choice, ranks);
                const Verdict verdict = verify(schedule);
                const algorithms::Problem problem = problem_of(choice, ranks);
                CAPTURE(label(choice, ranks, 0));
                REQUIRE(verdict.failure == "");
                CHECK(verdict.order_preserving == choice.algorithm->order_preserving(problem));
                CHECK(verdict.consistent == choice.algorithm->consistent(problem));
                CHECK(verdict.canonical == choice.algorithm->canonical(problem));
                CHECK(verdict.accounting.most.sends == 2 * steps(group) - r);
                CHECK(verdict.accounting.steps <= 2 * steps(group) - r);
                if (r == 0) {
                    CHECK(verdict.accounting.most.blocks_sent == 2 * (ranks - 1));
                    CHECK(verdict.accounting.most.reductions == ranks - 1);
                }
                ++proved;
            }
    MESSAGE(proved, " schedules");
}

TEST_CASE("generalized: the cyclic group's messages, blocks and reductions") {
    const Position most = sampled() ? 40 : 130;
    for (Position ranks = 2; ranks <= most; ++ranks) {
        const std::int64_t d = steps(ranks);
        for (std::int64_t r = 0; r <= d; ++r) {
            CAPTURE(ranks);
            CAPTURE(r);
            const Schedule schedule = made("generalized(r=" + std::to_string(r) + ")", ranks);
            const Accounting counted = account(schedule);
            const Counts expected = counts(ranks, r);
            // With r = d all blocks are treated alike: the vector is one.
            const std::int64_t unit = ranks / schedule.blocks();
            CHECK(schedule.blocks() == (r == d ? 1 : ranks));
            CHECK(counted.most.sends == 2 * d - r);
            CHECK(counted.total.sends == ranks * (2 * d - r));
            CHECK(counted.most.blocks_sent * unit == expected.sent);
            CHECK(counted.total.blocks_sent * unit == ranks * expected.sent);
            if (ranks != 3 || r != d) // 3 is reduced in an agreed order
                CHECK(counted.most.reductions * unit == expected.reduced);
            if (r == 0)
                CHECK(counted.most.scratch_blocks == 0);
        }
    }
    // Of the paper's specification: (sent, reductions) of P = 127 and 48.
    const std::vector<std::pair<std::int64_t, std::int64_t>> of_127 = {
        {252, 126}, {258, 138}, {270, 162}, {294, 210},
        {342, 306}, {438, 498}, {630, 882}, {889, 1524}};
    for (std::size_t r = 0; r < of_127.size(); ++r) {
        CHECK(counts(127, static_cast<std::int64_t>(r)).sent == of_127[r].first);
        CHECK(counts(127, static_cast<std::int64_t>(r)).reduced == of_127[r].second);
    }
}

TEST_CASE("generalized: any placement of the blocks") {
    std::mt19937 random(3);
    for (const Position ranks : {2, 3, 5, 6, 7, 8, 12, 13, 16})
        for (const Value &group : factorizations(ranks))
            for (std::int64_t r = 0; r <= steps(group); ++r) {
                Generalized of(Group({group.begin(), group.end()}), static_cast<Position>(r));
                std::vector<Block> placement(static_cast<std::size_t>(of.blocks()));
                std::iota(placement.begin(), placement.end(), 0);
                std::shuffle(placement.begin(), placement.end(), random);
                of.place(placement);
                const Schedule schedule = algorithms::assemble(
                    Collective::allreduce, {.ranks = ranks, .parameters = {}, .shares = {}},
                    Partition::even(of.blocks()), of.group(),
                    [of](algorithms::Ops &ops, Position p) {
                        of.append_reduction(ops, p);
                        of.append_distribution(ops, p, 1);
                    });
                CAPTURE(ranks);
                CAPTURE(algorithms::shown(group));
                CAPTURE(r);
                CHECK(verify(schedule).failure == "");
            }
}

// The results travel back the way the sums came; the ring's go on in the same direction, which is
// the same with positions and blocks counted backwards.
TEST_CASE("generalized: with messages of one block it is the ring") {
    using enum Collective;
    for (Position ranks = 2; ranks <= 33; ++ranks)
        for (Position p = 0; p < ranks; ++p) {
            CAPTURE(ranks);
            const auto mirrored = [ranks](auto i) { return (ranks - i) % ranks; };
            const auto ops = [ranks](const char *name, Position at, Collective of) {
                return made(name, ranks, of).program(at).ops;
            };
            CHECK(ops("generalized(width=1)", p, reduce_scatter) == ops("ring", p, reduce_scatter));
            std::vector<Op> back = ops("ring", mirrored(p), allgather);
            for (Op &op : back) {
                op.peer = mirrored(op.peer);
                std::ranges::transform(op.blocks, op.blocks.begin(), mirrored);
            }
            CHECK(ops("generalized(width=1)", p, allgather) == back);
            std::vector<Op> both = ops("ring", p, reduce_scatter);
            for (Op &op : back)
                op.lane = 1;
            both.insert(both.end(), back.begin(), back.end());
            CHECK(ops("generalized(width=1)", p, allreduce) == both);
        }
}

TEST_CASE("generalized: with a group of twos it equals the hypercube algorithms") {
    for (const auto &[ranks, twos] :
         {std::pair<Position, std::string>{2, "2"}, {4, "2x2"}, {8, "2x2x2"}, {32, "2x2x2x2x2"}}) {
        const int d = algorithms::log2_floor(ranks);
        for (int r = 0; r <= d; ++r)
            for (Position p = 0; p < ranks; ++p) {
                const auto ops = [&, ranks = ranks](const std::string &name) {
                    return made(name, ranks).program(p).ops;
                };
                const auto own = ops("generalized(group=" + twos + ",r=" + std::to_string(r) + ")");
                CAPTURE(ranks);
                CAPTURE(r);
                CHECK(own == ops("hybrid(doublings=" + std::to_string(r) + ")"));
                if (r == 0)
                    CHECK(own == ops("rabenseifner"));
                if (r == d)
                    CHECK(own == ops("recursive_doubling"));
            }
    }
}

TEST_CASE("generalized: a family from the butterfly to the ring") {
    for (const Position ranks : {2, 3, 5, 7, 8, 13, 16, 31, 48, 64})
        for (const Position width : {1, 2, 3, 4, 5, 8, 16, 100}) {
            const std::string name = "generalized(width=" + std::to_string(width) + ")";
            const Schedule schedule = made(name, ranks);
            const Verdict verdict = verify(schedule);
            CAPTURE(ranks);
            CAPTURE(width);
            REQUIRE(verdict.failure == "");
            CHECK(verdict.consistent);
            CHECK(verdict.accounting.most.blocks_sent == 2 * (ranks - 1));
            CHECK(verdict.accounting.most.reductions == ranks - 1);
            CHECK(verdict.accounting.most.scratch_blocks == 0);
            for (Position p = 0; p < ranks; ++p)
                for (const Op &op : schedule.program(p).ops)
                    CHECK(op.blocks.size() <= static_cast<std::size_t>(width));
        }
}

TEST_CASE("generalized: the other collectives, with every group") {
    const Position most = sampled() ? 16 : 36;
    for (Position ranks = 2; ranks <= most; ++ranks)
        for (const Value &group : factorizations(ranks))
            for (const std::int64_t width : {0, 1, 2})
                for (const Collective collective :
                     {Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
                      Collective::reduce}) {
                    const std::string name = "generalized(group=" + algorithms::shown(group) +
                                             ",width=" + std::to_string(width) + ")";
                    const Choice choice = algorithms::parse(collective, name);
                    for (const Position root : roots(*choice.algorithm, ranks)) {
                        const Schedule schedule = make(choice, ranks, root);
                        const Verdict verdict = verify(schedule);
                        CAPTURE(label(choice, ranks, root));
                        REQUIRE(verdict.failure == "");
                        CHECK(verdict.accounting.most.scratch_blocks == 0);
                        const Accounting &counted = verdict.accounting;
                        if (rooted(collective)) {
                            CHECK(counted.total.sends == ranks - 1);
                            CHECK((width > 0 || counted.steps <= steps(group)));
                        } else {
                            CHECK(counted.most.blocks_sent == ranks - 1);
                            CHECK((width > 0 || counted.most.sends == steps(group)));
                        }
                    }
                }
}

TEST_CASE("generalized: parameters that do not fit are refused with those that do") {
    const auto refusal = [](const std::string &name, Position ranks) {
        return message(Status::unsupported, [&] { (void)made(name, ranks); });
    };
    CHECK(contains(refusal("generalized(r=4)", 7),
                   "cannot run with r=4 on 7 ranks, which have 0 to 3"));
    CHECK(contains(refusal("generalized(group=2x3)", 7),
                   "group=2x3 on 7 ranks: the product of the orders must be"));
    CHECK(contains(refusal("generalized(r=1,width=2)", 7), "both r and width"));
    CHECK(refusal("generalized(group=1048576x1048576)", 7) != "");
    CHECK(message(Status::argument, [] { (void)made("generalized(group=2y3)", 6); }) != "");
    CHECK(message(Status::argument, [] { (void)made("generalized(group=2x)", 2); }) != "");
    CHECK(message(Status::argument, [] { (void)made("generalized(r=2x2)", 4); }) != "");
}
