// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm for 1 to 64 ranks: proved, and no better or worse than it declares.
#include "doctest.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "cases.hpp"
#include "schedule/verify.hpp"

using namespace stretto;
using namespace stretto::schedule;
using test::Algorithm;
using test::Choice;

namespace {

// What a position of a symmetric schedule does, seen from there; whatever the labels of blocks and
// slots.
using Shape = std::vector<std::tuple<OpKind, Position, std::size_t, bool, Lane, std::size_t>>;

Shape shape(const Schedule &schedule, Position position) {
    Shape shape;
    for (const Op &op : schedule.program(position).ops) {
        const bool message = op.kind == OpKind::send || op.kind == OpKind::recv;
        shape.emplace_back(op.kind, message ? schedule.symmetry->difference(op.peer, position) : 0,
                           op.blocks.size(), op.from == kNoSlot, op.lane, op.sources.size());
    }
    return shape;
}

struct Properties {
    bool order_preserving = true, consistent = true, canonical = true;
    bool operator==(const Properties &) const = default;
};

// The properties that all roots have in common.
Properties prove(const Choice &choice, Position ranks) {
    Properties common;
    for (const Position root : test::roots(*choice.algorithm, ranks)) {
        const Schedule schedule = make(choice, ranks, root);
        const Verdict verdict = verify(schedule);
        CAPTURE(test::label(choice, ranks, root));
        REQUIRE(verdict.failure == "");
        common.order_preserving = common.order_preserving && verdict.order_preserving;
        common.consistent = common.consistent && verdict.consistent;
        common.canonical = common.canonical && verdict.canonical;
        if (schedule.symmetry)
            for (Position p = 1; p < ranks; ++p)
                CHECK(shape(schedule, p) == shape(schedule, 0));
    }
    return common;
}

Properties declared(const Choice &choice, Position ranks) {
    const algorithms::Problem problem = problem_of(choice, ranks);
    return {choice.algorithm->order_preserving(problem), choice.algorithm->consistent(problem),
            choice.algorithm->canonical(problem)};
}

void check(const Choice &choice, Position ranks) {
    const Properties derived = prove(choice, ranks), promised = declared(choice, ranks);
    CAPTURE(test::label(choice, ranks, 0));
    CHECK(derived.order_preserving == promised.order_preserving);
    CHECK(derived.consistent == promised.consistent);
    CHECK(derived.canonical == promised.canonical);
}

} // namespace

TEST_CASE("all algorithms, 1 to 64 ranks: proved, with the properties they declare") {
    for (const Algorithm &algorithm : algorithms::all())
        for (Position ranks = 1; ranks <= 64; ++ranks)
            if (algorithm.runs(ranks))
                for (const Choice &choice : test::choices(algorithm, ranks))
                    check(choice, ranks);
}

TEST_CASE("the proof holds with unequal shares, of which some are empty") {
    std::mt19937_64 random(5);
    for (const Algorithm &algorithm : algorithms::all()) {
        if (!algorithm.unequal_shares)
            continue;
        for (const Position ranks : {1, 2, 3, 5, 7, 8, 13, 16, 33, 64}) {
            std::vector<std::uint64_t> shares(static_cast<std::size_t>(ranks));
            for (std::uint64_t &share : shares)
                share = random() % 3 == 0 ? 0 : random() % 1000;
            const std::uint64_t whole = std::accumulate(shares.begin(), shares.end(), 0ull);
            for (const Position root : test::roots(algorithm, ranks)) {
                CAPTURE(test::label({&algorithm, {}}, ranks, root));
                const Schedule schedule = algorithms::make({&algorithm, {}}, ranks, root, shares);
                const Verdict verdict = verify(schedule);
                CHECK(verdict.failure == "");
                CHECK(verdict.order_preserving ==
                      declared({&algorithm, {}}, ranks).order_preserving);
                CHECK(verdict.consistent == declared({&algorithm, {}}, ranks).consistent);
                // At the count that they add up to, an owner's blocks are exactly its share.
                const std::vector<std::size_t> bounds = schedule.partition.bounds(whole);
                const std::size_t each = (bounds.size() - 1) / shares.size();
                for (std::size_t p = 0; p < shares.size(); ++p)
                    CHECK(bounds[(p + 1) * each] - bounds[p * each] == shares[p]);
            }
        }
        CHECK(verify(algorithms::make({&algorithm, {}}, 4, 0, {0, 0, 0, 0})).ok);
    }
}

TEST_CASE("hybrid lies between rabenseifner and recursive doubling") {
    const auto ops = [](const std::string &name, Position p) {
        return make(algorithms::parse(Collective::allreduce, name), 16).program(p).ops;
    };
    for (Position p = 0; p < 16; ++p) {
        CHECK(ops("hybrid(doublings=0)", p) == ops("rabenseifner", p));
        CHECK(ops("hybrid(doublings=4)", p) == ops("recursive_doubling", p));
    }
}

TEST_CASE("one rank has nothing to do") {
    for (const Algorithm &algorithm : algorithms::all())
        CHECK(algorithms::make({&algorithm, {}}, 1).program(0).ops.empty());
}

TEST_CASE("algorithms that carry the canonical tree compute the same bits") {
    for (const Position ranks : {5, 6, 8, 13}) {
        const auto by = [&](const char *name) {
            return make(algorithms::parse(Collective::allreduce, name), ranks);
        };
        CHECK(equivalent(by("binomial"), by("one_shot_canonical")));
        CHECK(equivalent(by("one_shot"), by("linear")));
        CHECK(!equivalent(by("one_shot"), by("one_shot_canonical")));
        CHECK(equivalent(by("binomial"), by("recursive_doubling")) ==
              declared(algorithms::parse(Collective::allreduce, "recursive_doubling"), ranks)
                  .canonical);
    }
}
