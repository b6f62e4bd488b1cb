// SPDX-License-Identifier: BSD-3-Clause
// The algorithms whose positions are ranks in the order of arrival, over what they depend on:
// proved.
#include "doctest.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/assemble.hpp"
#include "algorithms/early_steps.hpp"
#include "algorithms/lateness.hpp"
#include "cases.hpp"
#include "refusal.hpp"
#include "schedule/verify.hpp"
#include "support/golden.hpp"
#include "support/mutate.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::schedule;
using algorithms::Value;
using stretto::test::Choice;

namespace {

Choice choice(const char *name, algorithms::Values parameters = {}) {
    return {&algorithms::find(Collective::allreduce, name), std::move(parameters)};
}

// Bit p of `rises`: whether position p is a step further ahead than the next one.
Value ahead(Position ranks, std::uint64_t rises) {
    Value found(static_cast<std::size_t>(ranks), 0);
    for (std::size_t p = found.size() - 1; p-- > 0;)
        found[p] = found[p + 1] + static_cast<std::int64_t>(rises >> p & 1);
    return found;
}

Verdict prove(const Choice &tried, Position ranks) {
    CAPTURE(stretto::test::label(tried, ranks, 0));
    const algorithms::Problem problem = problem_of(tried, ranks);
    const Verdict verdict = verify(make(tried, ranks));
    REQUIRE(verdict.failure == "");
    CHECK(verdict.order_preserving == tried.algorithm->order_preserving(problem));
    CHECK(verdict.consistent == tried.algorithm->consistent(problem));
    CHECK(verdict.canonical == tried.algorithm->canonical(problem));
    return verdict;
}

// Few late ones and many, with segments and without.
void for_late_ones(
    const std::function<void(Position ranks, std::int64_t late, std::int64_t segments)> &body) {
    const Position most = ::test::sampled() ? 16 : 64;
    for (Position ranks = 1; ranks <= most; ++ranks)
        for (const std::int64_t late : {1, 2, ranks / 2, ranks - 1})
            for (const std::int64_t segments : {1, 3})
                if (late >= 1 && late <= std::max(ranks - 1, 1))
                    body(ranks, late, segments);
}

void prove_ring(Position ranks, std::uint64_t rises) {
    const Verdict verdict =
        prove(choice("pre_reduced_ring", {{"ahead", ahead(ranks, rises)}}), ranks);
    const std::int64_t P = ranks;
    CHECK(verdict.accounting.total.sends == 2 * P * (P - 1));
    CHECK(verdict.accounting.total.reductions == P * (P - 1));
    CHECK(verdict.accounting.most.scratch_blocks == 0);
}

} // namespace

TEST_CASE("pre-reduced ring: all steps ahead that there are at few ranks, any at many") {
    const Position all = ::test::full_tier() ? 12 : ::test::sampled() ? 5 : 8;
    for (Position ranks = 1; ranks <= all; ++ranks)
        for (std::uint64_t rises = 0; rises < std::uint64_t{1} << (ranks - 1); ++rises)
            prove_ring(ranks, rises);
    std::mt19937_64 random(11);
    const int samples = ::test::full_tier() ? 20 : 2;
    for (Position ranks = all + 1; ranks <= 64; ++ranks) {
        for (int i = 0; i < samples; ++i)
            prove_ring(ranks, random());
        prove_ring(ranks, random() & random() & random()); // few steps
        prove_ring(ranks, ~std::uint64_t{0});              // as many as can be: a chain
    }
}

TEST_CASE("pre-reduced ring: without steps ahead it is the ring, op by op") {
    for (const Position ranks : {2, 3, 4, 7, 16})
        for (const Value &none : {Value{}, ahead(ranks, 0)}) {
            algorithms::Values given;
            if (!none.empty())
                given["ahead"] = none;
            const Schedule ours = make(choice("pre_reduced_ring", given), ranks);
            const Schedule ring = make(choice("ring"), ranks);
            for (Position p = 0; p < ranks; ++p)
                CHECK(ours.program(p) == ring.program(p));
        }
}

TEST_CASE("pre-reduced ring: vectors that are refused") {
    const auto refused = [](Value given) {
        return stretto::test::message(Status::unsupported, [&] {
            (void)make(choice("pre_reduced_ring", {{"ahead", std::move(given)}}), 4);
        });
    };
    CHECK(refused({1, 0, 0}).find("a number for each") != std::string::npos);
    CHECK(refused({1, 1, 1, 1}).find("the last one must be 0") != std::string::npos);
    CHECK(refused({2, 0, 0, 0}).find("each must be the next or one more") != std::string::npos);
    CHECK(refused({0, 1, 0, 0}).find("each must be the next or one more") != std::string::npos);
}

TEST_CASE("steps ahead by arrival") {
    using algorithms::early_steps;
    for (const auto &example : stretto::test::golden("prr_examples")) {
        std::vector<double> arrivals = example.at("a");
        std::sort(arrivals.begin(), arrivals.end());
        CHECK(early_steps(arrivals, 1) == example.at("k").get<Value>());
    }
    CHECK(early_steps({}, 1).empty());
    CHECK(early_steps(std::vector<double>{3}, 1) == Value{0});
    // The wait counts from the arrival of the next one: at 1.5 position 0 has nobody to send to.
    CHECK(early_steps(std::vector<double>{0, 1.5, 2}, 1) == Value{0, 0, 0});
    CHECK(early_steps(std::vector<double>{0, 1, 2}, 1) == Value{1, 0, 0});
    // Nobody is ahead whose wait may be a mistake of the estimate.
    CHECK(early_steps(std::vector<double>{0, 0, 0, 2}, 1, 0.5) == Value{1, 1, 0, 0});
    CHECK(early_steps(std::vector<double>{0, 0, 0, 2}, 1, 2) == Value{0, 0, 0, 0});
    // However late: no more steps than there are positions in front.
    CHECK(early_steps(std::vector<double>{0, 0, 0, 1e9}, 1e-6) == Value{2, 1, 0, 0});
    CHECK(algorithms::ring_step(4, 8000, 3, 0.5, 0.25) == 3 + 0.75 * 2000);
    CHECK(stretto::test::message(Status::argument, [&] {
              (void)early_steps(std::vector<double>{0, 2, 1}, 1);
          }).find("ascend") != std::string::npos);
    for (const double step : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
        CHECK(stretto::test::message(Status::argument, [&] {
                  (void)early_steps(std::vector<double>{0, 1}, step);
              }).find("some time") != std::string::npos);
}

TEST_CASE("late-rooted pipeline: blocks and chains") {
    for (Position ranks = 1; ranks <= 20; ++ranks)
        for (std::int64_t chain = 2; chain <= std::max<std::int64_t>(ranks, 2); ++chain)
            for (const std::int64_t blocks : {1, 2, 3, 5, 8, 16}) {
                if (::test::sampled() && (chain > 3 || blocks > 3))
                    continue;
                const Verdict verdict =
                    prove(choice("late_rooted", {{"blocks", {blocks}}, {"chain", {chain}}}), ranks);
                CHECK(verdict.accounting.total.sends == 2 * (ranks - 1) * blocks);
                CHECK(verdict.accounting.total.reductions == (ranks - 1) * blocks);
                CHECK(verdict.accounting.most.scratch_blocks == 0);
                const Position among = std::max<Position>(ranks - 1, 1); // who tell each other
                CHECK(verdict.accounting.most.sends <= 2 * blocks + algorithms::log2_ceil(among));
            }
    for (Position ranks = 21; ranks <= 64; ++ranks)
        for (const std::int64_t blocks : {1, 7, 40})
            prove(choice("late_rooted", {{"blocks", {blocks}}, {"chain", {2 + blocks % 3}}}),
                  ranks);
}

TEST_CASE("StragglAR: blocks, and any number of late ranks") {
    for (Position ranks = 1; ranks <= 20; ++ranks)
        for (std::int64_t late = 1; late <= std::max<std::int64_t>(ranks - 1, 1); ++late)
            for (const std::int64_t blocks : {1, 2, 3, 5, 8, 16}) {
                if (::test::sampled() && (late > 3 || blocks > 3))
                    continue;
                const Verdict verdict =
                    prove(choice("stragglar", {{"blocks", {blocks}}, {"late", {late}}}), ranks);
                CHECK(verdict.accounting.total.sends == 2 * (ranks - 1) * blocks);
                CHECK(verdict.accounting.total.reductions == (ranks - 1) * blocks);
                CHECK(verdict.accounting.most.scratch_blocks == 0);
                if (late == 1)
                    CHECK(verdict.accounting.most.sends <=
                          2 * blocks + algorithms::log2_ceil(ranks));
            }
    for (Position ranks = 21; ranks <= 64; ++ranks)
        for (const std::int64_t blocks : {1, 7, 40})
            for (const std::int64_t late : {1, 2, ranks / 4, ranks / 2})
                prove(choice("stragglar", {{"blocks", {blocks}}, {"late", {late}}}), ranks);
}

TEST_CASE("early direct: owners and segments") {
    for (Position ranks = 1; ranks <= 20; ++ranks)
        for (std::int64_t owners = 1; owners <= ranks; ++owners)
            for (const std::int64_t segments : {1, 2, 3}) {
                if (::test::sampled() && ranks > 8 && owners > 2)
                    continue;
                const Verdict verdict =
                    prove(choice("early_direct", {{"owners", {owners}}, {"segments", {segments}}}),
                          ranks);
                const std::int64_t blocks = owners * segments;
                CHECK(verdict.accounting.total.sends == 2 * (ranks - 1) * blocks);
                CHECK(verdict.accounting.total.reductions == (ranks - 1) * blocks);
                CHECK(verdict.accounting.most.scratch_blocks == 0);
            }
    for (Position ranks = 21; ranks <= 64; ++ranks)
        for (const std::int64_t owners : {1, ranks / 2, ranks - 1})
            prove(choice("early_direct", {{"owners", {owners}}}), ranks);
}

TEST_CASE("late_last: early ranks fold before the late ones come; proved") {
    for_late_ones([](Position ranks, std::int64_t late, std::int64_t segments) {
        const Choice tried = choice("late_last", {{"late", {late}}, {"segments", {segments}}});
        const Accounting counted = prove(tried, ranks).accounting;
        if (ranks == 1)
            return;
        const std::int64_t blocks = (ranks - late) * segments;
        CHECK(counted.total.sends == 2 * (ranks - 1) * blocks);
        CHECK(counted.total.reductions == (ranks - 1) * blocks);
        CHECK(counted.most.scratch_blocks == std::max(ranks - late - 1, late));
        // Nothing that an owner folds of the early ones comes behind a late one.
        const Schedule schedule = make(tried, ranks);
        for (Position p = 0; p < ranks - late; ++p) {
            std::vector<bool> folded(static_cast<std::size_t>(blocks), ranks - late == 1);
            for (const Op &op : schedule.program(p).ops) {
                const auto block = static_cast<std::size_t>(op.blocks[0]);
                if (op.kind == OpKind::reduce)
                    folded[block] = true;
                else if (op.kind == OpKind::recv && op.peer >= ranks - late)
                    CHECK(folded[block]);
            }
        }
    });
}

TEST_CASE("parameters made for arrivals fit them") {
    algorithms::Lateness expected = {.arrivals = {},
                                     .spread = 0,
                                     .bytes = 4 << 20,
                                     .elements = 1 << 20,
                                     .message = 1e-4,
                                     .byte = 8e-9,
                                     .reduce = 0};
    const auto late = [&](std::vector<double> arrivals) {
        expected.arrivals = std::move(arrivals);
        return expected.late();
    };
    CHECK(late({0, 1, 2, 9, 10}) == 2);
    CHECK(late({0, 0, 0}) == 1);
    CHECK(late({0, 5, 5}) == 2);
    CHECK(late({0}) == 0);
    // The least of steps * message * pieces + vector / pieces ...
    CHECK(expected.pieces(1) == std::lround(std::sqrt(expected.vector() / expected.message)));
    expected.elements = 3; // ... of pieces that are not empty
    CHECK(expected.pieces(1) == 3);
    CHECK(expected.slices() == 1);
    expected.slice = (1 << 20) + 1;
    CHECK(expected.slices() == 4);
    expected.slice = (1 << 20) - 1;
    CHECK(expected.slices() == 5);
    for (Position ranks = 3; ranks <= 33; ++ranks)
        for (Position last = 1; last < ranks; ++last) {
            expected.arrivals.assign(static_cast<std::size_t>(ranks), 0);
            std::fill(expected.arrivals.end() - last, expected.arrivals.end(), 0.1);
            for (const algorithms::Algorithm &each : algorithms::all())
                if (each.for_arrivals != nullptr)
                    for (algorithms::Values &given : each.for_arrivals(expected)) {
                        const Choice made = {&each, std::move(given)};
                        CHECK(misfit(made, problem_of(made, ranks)) == "");
                    }
        }
}

TEST_CASE("pre-reduced ring: message counts with one late are the golden ones") {
    const nlohmann::json counts = stretto::test::golden("props").at("PRR one late");
    for (const auto &[ranks, expected] : counts.items()) {
        std::vector<double> arrivals(std::stoul(ranks), 0);
        arrivals.back() = 1000;
        const Verdict verdict =
            prove(choice("pre_reduced_ring", {{"ahead", algorithms::early_steps(arrivals, 1)}}),
                  static_cast<Position>(arrivals.size()));
        CHECK(verdict.accounting.total.sends == expected.at("msgs").get<std::int64_t>());
        CHECK(verdict.accounting.most.sends == expected.at("max_sends").get<std::int64_t>());
    }
}

TEST_CASE("mutants of them are refused, or right in truth") {
    std::uint64_t seed = 77;
    int mutants = 0, refused = 0;
    for (const Choice &each :
         {choice("pre_reduced_ring", {{"ahead", {2, 1, 0, 0}}}),
          choice("pre_reduced_ring", {{"ahead", {3, 2, 1, 0}}}),
          choice("late_rooted", {{"blocks", {3}}}), choice("late_rooted", {{"chain", {3}}}),
          choice("stragglar", {{"blocks", {3}}}), choice("stragglar", {{"late", {2}}}),
          choice("early_direct", {{"owners", {2}}}), choice("late_last", {{"late", {2}}}),
          choice("late_last", {{"segments", {2}}})}) {
        CAPTURE(stretto::test::label(each, 4, 0));
        const stretto::test::MutationTally tally =
            stretto::test::check_mutants(make(each, 4), 100, seed++, 2);
        mutants += tally.mutants;
        refused += tally.refused;
    }
    MESSAGE(mutants, " mutants, ", refused, " refused");
    CHECK(refused > mutants / 2);
}

TEST_CASE("late_last of an allgather: nothing of early ranks goes by late ones; proved") {
    for_late_ones([](Position ranks, std::int64_t late, std::int64_t segments) {
        const Choice tried{&algorithms::find(Collective::allgather, "late_last"),
                           {{"late", {late}}, {"segments", {segments}}}};
        const Accounting counted = prove(tried, ranks).accounting;
        if (ranks == 1)
            return;
        const std::int64_t early = ranks - late;
        CHECK(counted.total.sends ==
              early * (early - 1) + early * late + late * (late - 1) + late * early * segments);
        CHECK(counted.most.scratch_blocks == 0);
        // In parts of m / P; a late one sends each early one's first segments as well.
        CHECK(counted.most.blocks_sent <= (ranks - 1 + late) * segments);
        const Schedule schedule = make(tried, ranks);
        for (Position p = 0; p < early; ++p)
            for (const Op &op : schedule.program(p).ops)
                if (op.kind == OpKind::recv && op.peer >= early)
                    for (const Block block : op.blocks)
                        CHECK(schedule.contract.owner(block) == op.peer);
    });
}
