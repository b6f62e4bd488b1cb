// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm for 1 to 64 ranks: proved, and no better or worse than it declares.
#include "doctest.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "cases.hpp"
#include "schedule/verify.hpp"

using namespace stretto;
using namespace stretto::schedule;
using test::Algorithm;
using test::Choice;

namespace {

// What a position does, whatever the labels of peers, blocks and slots.
using Shape = std::vector<std::tuple<OpKind, std::size_t, bool, Lane, std::size_t>>;

Shape shape(const Schedule &schedule, Position position) {
    Shape shape;
    for (const Op &op : schedule.program(position).ops)
        shape.emplace_back(op.kind, op.blocks.size(), op.from == kNoSlot, op.lane,
                           op.sources.size());
    return shape;
}

struct Properties {
    bool order_preserving = true, consistent = true, canonical = true;
    bool operator==(const Properties &) const = default;
};

// The properties that all roots and parameters have in common.
Properties prove(const Algorithm &algorithm, Position ranks) {
    Properties common;
    for (const Choice &choice : test::choices(algorithm, ranks))
        for (const Position root : test::roots(algorithm, ranks)) {
            const Schedule schedule = make(choice, ranks, root);
            const Verdict verdict = verify(schedule);
            CAPTURE(test::label(choice, ranks, root));
            REQUIRE(verdict.failure == "");
            common.order_preserving = common.order_preserving && verdict.order_preserving;
            common.consistent = common.consistent && verdict.consistent;
            common.canonical = common.canonical && verdict.canonical;
            if (schedule.symmetric)
                for (Position p = 1; p < ranks; ++p)
                    CHECK(shape(schedule, p) == shape(schedule, 0));
        }
    return common;
}

} // namespace

TEST_CASE("all algorithms, 1 to 64 ranks: proved, with the properties they declare") {
    for (const Algorithm &algorithm : algorithms::all())
        for (Position ranks = 1; ranks <= 64; ++ranks) {
            if (!algorithm.runs(ranks))
                continue;
            const Properties derived = prove(algorithm, ranks);
            CAPTURE(test::label({&algorithm, {}}, ranks, 0));
            CHECK(derived.order_preserving == algorithm.order_preserving(ranks));
            CHECK(derived.consistent == algorithm.consistent(ranks));
            CHECK(derived.canonical == algorithm.canonical(ranks));
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
              algorithms::find(Collective::allreduce, "recursive_doubling").canonical(ranks));
    }
}
