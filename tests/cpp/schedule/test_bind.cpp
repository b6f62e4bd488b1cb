// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/status.hpp"
#include "schedule/bind.hpp"
#include "schedule/verify.hpp"

using namespace stretto;
using namespace stretto::schedule;

namespace {

Schedule made(Collective collective, const char *name, Position ranks) {
    return algorithms::make(algorithms::parse(collective, name), ranks, 0, {});
}

std::vector<Position> in_order(Position ranks) {
    std::vector<Position> order(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

} // namespace

TEST_CASE("bound to ranks in any order a schedule is proved, and costs the same") {
    std::mt19937 random(7);
    using enum Collective;
    const std::vector<std::pair<Collective, const char *>> all = {
        {allreduce, "ring"},        {allreduce, "chain"},          {allreduce, "pre_reduced_ring"},
        {allreduce, "late_rooted"}, {allreduce, "stragglar"},      {allreduce, "circulant"},
        {allgather, "late_last"},   {allgather, "circulant"},      {allgather, "late_last(late=2)"},
        {reduce_scatter, "ring"},   {reduce_scatter, "circulant"}, {alltoall, "pairwise"},
        {reduce, "chain"},          {reduce, "binomial"},          {broadcast, "chain"},
        {broadcast, "binomial"},    {gather, "binomial"},          {scatter, "binomial"},
    };
    for (const auto &[collective, name] : all)
        for (const Position ranks : {3, 4, 5, 7, 8, 13, 16}) {
            CAPTURE(name);
            CAPTURE(ranks);
            const Schedule original = made(collective, name, ranks);
            std::vector<Position> order = in_order(ranks);
            std::shuffle(order.begin(), order.end(), random);
            const Verdict before = verify(original), after = verify(bind(original, order));
            CHECK(after.failure == "");
            CHECK(after.consistent == before.consistent);
            CHECK(after.accounting.total.sends == before.accounting.total.sends);
            CHECK(after.accounting.total.blocks_sent == before.accounting.total.blocks_sent);
            CHECK(after.accounting.total.reductions == before.accounting.total.reductions);
        }
}

TEST_CASE("each rank does its position's work, with the ranks at the other positions") {
    const Schedule original = made(Collective::allreduce, "chain", 4);
    const std::vector<Position> order = {2, 0, 3, 1};
    const Schedule bound = bind(original, order);
    for (Position p = 0; p < 4; ++p) {
        Program expected = original.program(p);
        for (Op &op : expected.ops)
            if (op.peer >= 0)
                op.peer = order[static_cast<std::size_t>(op.peer)];
        CHECK(bound.program(order[static_cast<std::size_t>(p)]) == expected);
    }
    for (Position p = 0; p < 4; ++p)
        CHECK(bind(original, in_order(4)).program(p) == original.program(p));
}

TEST_CASE("the rank at the root's position is the root") {
    std::mt19937 random(11);
    using enum Collective;
    for (const auto &[collective, name] : {std::pair{reduce, "chain"},
                                           {broadcast, "chain"},
                                           {gather, "linear"},
                                           {scatter, "binomial"}})
        for (const Position ranks : {1, 2, 3, 5, 8})
            for (Position root = 0; root < ranks; ++root) {
                CAPTURE(name);
                CAPTURE(ranks);
                CAPTURE(root);
                std::vector<Position> order = in_order(ranks);
                std::shuffle(order.begin(), order.end(), random);
                const Schedule bound =
                    bind(algorithms::make(algorithms::parse(collective, name), ranks, root), order);
                CHECK(bound.contract.root() == order[static_cast<std::size_t>(root)]);
                CHECK(verify(bound).failure == "");
            }
}

TEST_CASE("the rank at a position owns its blocks") {
    const Schedule bound = bind(made(Collective::allgather, "late_last(segments=2)", 3), {1, 2, 0});
    // Positions 0 and 1 are ranks 1 and 2, which are early; rank 0 gives its block to the first.
    CHECK(bound.program(1).ops.front() == send(2, {2, 3}));
    CHECK(bound.program(2).ops.front() == send(1, {4, 5}));
    CHECK(bound.program(0).ops.front().peer == 1);
    CHECK(bound.program(0).ops.front().blocks == std::vector<Block>{0});
}

TEST_CASE("an order that cannot be bound is refused") {
    const Schedule ring = made(Collective::allreduce, "ring", 3);
    for (const std::vector<Position> &order : std::vector<std::vector<Position>>{
             {}, {0, 1}, {0, 1, 1}, {0, 1, 3}, {0, -1, 2}, {0, 1, 2, 3}})
        CHECK_THROWS_AS(bind(ring, order), Error);
    Schedule table = ring;
    table.contract = Contract::custom(3, table.blocks(), std::vector<std::optional<Atom>>(9),
                                      std::vector<std::optional<Goal>>(9));
    CHECK_THROWS_AS(bind(table, in_order(3)), Error);
}
