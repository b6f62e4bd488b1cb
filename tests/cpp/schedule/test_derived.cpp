// SPDX-License-Identifier: BSD-3-Clause
// What the verifier derives: order, consistency, the canonical tree, equivalence.
#include "doctest.h"

#include <optional>
#include <set>
#include <vector>

#include "schedule/verify.hpp"
#include "support/schedules.hpp"

using namespace stretto::test;

namespace {

struct Properties {
    bool order_preserving, consistent, canonical;
    bool operator==(const Properties &) const = default;
};

Properties properties(const Schedule &schedule) {
    const Verdict verdict = verify(schedule);
    REQUIRE(verdict.failure == "");
    return {verdict.order_preserving, verdict.consistent, verdict.canonical};
}

constexpr Properties kAll{true, true, true}, kOrdered{true, true, false},
    kConsistent{false, true, false}, kNone{false, false, false};

} // namespace

TEST_CASE("properties of textbook schedules") {
    for (const Position ranks : {3, 5, 6, 8, 12}) {
        CAPTURE(ranks);
        CHECK(properties(binomial(ranks)) == kAll);
        CHECK((properties(linear(ranks)) == (ranks == 3 ? kAll : kOrdered)));
        CHECK((properties(one_shot(ranks)) == (ranks == 3 ? kAll : kOrdered)));
        CHECK(properties(ring(ranks)) == kConsistent);
        CHECK(properties(direct(ranks)) == kConsistent);
    }
    for (const Position ranks : {2, 4, 8, 16})
        CHECK(properties(recursive_doubling(ranks, false)) == kAll);
    for (const auto make : {linear, binomial, ring, direct, one_shot}) {
        CHECK(properties(make(1)) == kAll);
        // Two operands have but one tree; the ring and direct turn it round on one side.
        CHECK(properties(make(2)).consistent);
    }
    CHECK(properties(alltoall(4, 1)) == kAll); // nothing is reduced
}

TEST_CASE("sides decide the order; one wrong side and the order is lost") {
    auto programs = programs_of(recursive_doubling(4, false));
    // Both sides of one exchange turned: the pair commutes, the order does not.
    for (const Position p : {0, 1})
        programs[static_cast<std::size_t>(p)].ops[1].side = p == 0 ? Side::left : Side::right;
    CHECK(properties(with_programs(linear(4), programs)) == kConsistent);
    // One side only: other leaves first, the same bits.
    programs[0].ops[1].side = Side::right;
    CHECK(properties(with_programs(linear(4), programs)) == kConsistent);
}

TEST_CASE("trees that differ by more than a commuted pair are not consistent") {
    // Position 0 has (0 1) 2, position 1 has 0 (1 2), position 2 copies from 0.
    const auto schedule = [](bool same) {
        const std::vector<Slot> tail = {1, 2};
        auto programs = empty_programs(3);
        ops_of(programs, 0) = {send(1, {0}),    send(2, {0}, kWork, 1),     recv(1, {0}, 1),
                               recv(2, {0}, 2), reduce({kWork, 1, 2}, {0}), send(2, {0}, kWork, 2)};
        ops_of(programs, 1) = {send(0, {0}), recv(0, {0}, 1), recv(2, {0}, 2)};
        if (same)
            ops_of(programs, 1).push_back(reduce({1, kWork, 2}, {0}));
        else {
            ops_of(programs, 1).push_back(reduce({kWork, 2}, {0}, 2));
            ops_of(programs, 1).push_back(reduce({1, 2}, {0}));
        }
        ops_of(programs, 2) = {send(0, {0}), send(1, {0}), recv(0, {0}, 1, 1),
                               recv(0, {0}, kWork, 2)};
        return assemble("three", {Collective::allreduce, 3, 1}, programs);
    };
    CHECK(properties(schedule(true)) == kAll);
    CHECK((properties(schedule(false)) == Properties{true, false, false}));
}

TEST_CASE("an unordered group has the same bits only where it is copied from") {
    // All positions reduce everything in the order of arrival, each for itself.
    auto programs = empty_programs(3);
    for (Position p = 0; p < 3; ++p)
        for (Position q = 0; q < 3; ++q)
            if (q != p) {
                ops_of(programs, p).push_back(send(q, {0}, 1));
                Op op = recv_reduce(q, {0}, Side::right);
                op.group = 1;
                ops_of(programs, p).push_back(op);
            }
    for (auto &program : programs)
        program.ops.insert(program.ops.begin(), copy({0}, kWork, 1));
    CHECK(properties(with_programs(linear(3), programs)) == kNone);
    CHECK(properties(direct(3)) == kConsistent);
    // A group of one has nothing to reorder.
    CHECK(properties(direct(2)).consistent);
}

TEST_CASE("an unordered group over a commuted pair is still of its place") {
    // 3 makes "3 op 2"; 0 and 1 fold it in with each other's, each in its own order of arrival.
    auto programs = empty_programs(4);
    ops_of(programs, 2) = {send(3, {0})};
    ops_of(programs, 3) = {recv_reduce(2, {0}, Side::right), send(0, {0}), send(1, {0})};
    for (const Position p : {0, 1}) {
        ops_of(programs, p) = {copy({0}, kWork, 1), send(1 - p, {0}, 1)};
        for (const Position q : {1 - p, 3}) {
            ops_of(programs, p).push_back(recv_reduce(q, {0}, Side::right));
            ops_of(programs, p).back().group = 1;
        }
    }
    std::vector<std::optional<Atom>> start = {Atom{0, 0}, Atom{1, 0}, Atom{2, 0}, Atom{3, 0}};
    const Goal all{0, std::nullopt};
    CHECK(properties(assemble("two", Contract::custom(4, 1, start, {all, all, {}, {}}),
                              programs)) == kNone);
}

TEST_CASE("hashes distinguish trees and do not depend on the run") {
    const std::vector<Schedule> schedules = {linear(6), binomial(6), direct(6),   ring(6),
                                             linear(5), linear(7),   one_shot(2), ring(2)};
    std::set<std::uint64_t> hashes;
    for (const Schedule &schedule : schedules) {
        hashes.insert(verify(schedule).tree);
        CHECK(verify(schedule).tree == verify(schedule).tree);
    }
    CHECK(hashes.size() == schedules.size());
    CHECK(verify(linear(6)).tree == verify(one_shot(6)).tree); // the same left fold
}

TEST_CASE("equivalent schedules have the same trees at every end") {
    CHECK(equivalent(linear(6), one_shot(6)));
    CHECK(equivalent(binomial(8), recursive_doubling(8, false)));
    CHECK_FALSE(equivalent(linear(6), binomial(6)));
    CHECK_FALSE(equivalent(linear(6), linear(5)));
    CHECK_FALSE(equivalent(linear(4), recursive_doubling(4, true))); // which is not even valid
    CHECK(equivalent(direct(5), direct(5)));
    CHECK_FALSE(equivalent(chosen_root(), linear(3)));
    CHECK(equivalent(chosen_root(), chosen_root()));
}

TEST_CASE("the costliest path is accounted for") {
    const Verdict verdict = verify(ring(5));
    CHECK(verdict.accounting.steps == 8);
    CHECK(verdict.accounting.most.sends == 8);
    CHECK(verdict.accounting.total.reductions == 20);
}
