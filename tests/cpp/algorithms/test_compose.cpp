// SPDX-License-Identifier: BSD-3-Clause
// Compositions: proved over shapes of hosts, with the properties that they declare.
#include "doctest.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/catalog.hpp"
#include "algorithms/compose.hpp"
#include "base/status.hpp"
#include "schedule/accounting.hpp"
#include "schedule/check.hpp"
#include "schedule/verify.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::schedule;
using algorithms::Choice;
using algorithms::Part;
using algorithms::Stage;

namespace {

using Sizes = std::vector<Position>;

// The intra and inter algorithms of the full proof.
constexpr const char *kIntra[] = {"direct", "ring", "circulant", "generalized",
                                  "recursive_halving"};
constexpr const char *kInter[] = {"ring", "direct", "recursive_doubling", "circulant",
                                  "generalized"};

Choice choice(const std::string &parameters) {
    return algorithms::parse(Collective::allreduce, "hierarchical(" + parameters + ")");
}

std::string text(const Sizes &sizes) {
    std::string all;
    for (const Position size : sizes)
        all += (all.empty() ? "" : ",") + std::to_string(size);
    return sizes.size() == 1 ? "1x" + all : all;
}

// Every way to put so many ranks on hosts, whatever the order of the hosts.
void each_shape(Position ranks, const std::function<void(const Sizes &)> &visit) {
    Sizes sizes;
    const std::function<void(Position, Position)> extend = [&](Position left, Position most) {
        if (left == 0)
            return visit(sizes);
        for (Position size = std::min(left, most); size >= 1; --size) {
            sizes.push_back(size);
            extend(left - size, size);
            sizes.pop_back();
        }
    };
    extend(ranks, ranks);
}

struct Promised {
    bool order_preserving, consistent, canonical;
};

Promised promised(const Choice &of, const Topology &topology) {
    const algorithms::Problem problem = problem_of(of, topology.ranks(), 0, {}, topology);
    return {of.algorithm->order_preserving(problem), of.algorithm->consistent(problem),
            of.algorithm->canonical(problem)};
}

bool all_lead(const Choice &of, const Topology &topology) {
    const auto given = of.parameters.find("leaders");
    const std::size_t leaders =
        given == of.parameters.end() ? SIZE_MAX : static_cast<std::size_t>(given->second.front());
    const Topology::Groups hosts = topology.groups(Topology::Level::host, topology.ranks());
    return std::ranges::all_of(hosts, [&](const auto &host) {
        return host.size() == hosts[0].size() && host.size() <= leaders;
    });
}

// Proves it, and that it is what it declares.  Where all ranks are leaders it is no better either;
// with fewer, the few blocks that are left may be those that an algorithm happens to keep in order.
Schedule prove(const Choice &of, const Topology &topology) {
    const Schedule made = algorithms::make(of, topology.ranks(), 0, {}, topology);
    const Verdict verdict = verify(made);
    const Promised declared = promised(of, topology);
    CAPTURE(made.name);
    CAPTURE(topology.text());
    REQUIRE(verdict.failure == "");
    CHECK(verdict.order_preserving >= declared.order_preserving);
    CHECK(verdict.consistent == declared.consistent);
    CHECK(verdict.canonical >= declared.canonical);
    if (all_lead(of, topology)) {
        CHECK(verdict.order_preserving == declared.order_preserving);
        CHECK(verdict.canonical == declared.canonical);
    }
    if (made.symmetry)
        CHECK(is_symmetric(made));
    return made;
}

// The same for another root, or for ranks with different shares: it keeps at least its promises.
void prove_at_least(const Choice &of, const Topology &topology, Position root,
                    const std::vector<std::uint64_t> &shares) {
    const algorithms::Problem problem = problem_of(of, topology.ranks(), root, shares, topology);
    const Schedule made = algorithms::make(of, topology.ranks(), root, shares, topology);
    const Verdict verdict = verify(made);
    CAPTURE(made.name);
    CAPTURE(topology.text());
    CAPTURE(root);
    REQUIRE(verdict.failure == "");
    CHECK(verdict.order_preserving >= of.algorithm->order_preserving(problem));
    CHECK(verdict.consistent >= of.algorithm->consistent(problem));
    CHECK(verdict.canonical >= of.algorithm->canonical(problem));
}

void prove_shape(const std::string &pair, const Sizes &sizes) {
    const Position most = *std::ranges::min_element(sizes);
    const std::set<Position> leaders = {1, std::min<Position>(2, most), most};
    for (const std::string &dealt : {std::string(), std::string("cyclic:")})
        for (const Position each : leaders)
            prove(choice(pair + ",leaders=" + std::to_string(each)),
                  Topology::parse(dealt + text(sizes)));
}

std::shared_ptr<const Schedule> shared(const Schedule &schedule) {
    return std::make_shared<const Schedule>(schedule);
}

Schedule flat(const std::string &name, Position ranks,
              Collective collective = Collective::allreduce) {
    return algorithms::make(algorithms::parse(collective, name), ranks);
}

Schedule compose(Position ranks, const Partition &partition, std::vector<Stage> stages) {
    algorithms::Problem problem;
    problem.ranks = ranks;
    return algorithms::compose(Collective::allreduce, problem, partition, std::nullopt,
                               std::move(stages));
}

bool refused(const std::vector<Stage> &stages) {
    try {
        (void)compose(3, Partition::even(1), stages);
    } catch (const Error &error) {
        return error.status() == Status::argument;
    }
    return false;
}

} // namespace

TEST_CASE("every pair, over every shape of a few ranks and samples of up to 24") {
    const bool full = ::test::full_tier();
    std::mt19937 random(24);
    for (Position ranks = 1; ranks <= 24; ++ranks)
        each_shape(ranks, [&](const Sizes &sizes) {
            for (const char *intra : kIntra)
                for (const char *inter : kInter) {
                    // A sample has as many of each number of ranks.
                    if (!full && ranks > 5 && random() % (1u << (ranks / 3)) != 0)
                        continue;
                    Sizes order = sizes;
                    std::shuffle(order.begin(), order.end(), random);
                    prove_shape(std::string("intra=") + intra + ",inter=" + inter, order);
                }
        });
}

TEST_CASE("any mapping, any algorithm: as it declares") {
    std::mt19937 random(7);
    const algorithms::Algorithm &hierarchical =
        algorithms::find(Collective::allreduce, "hierarchical");
    for (const std::string_view intra : hierarchical.parameters[0].names)
        for (const std::string_view inter : hierarchical.parameters[1].names)
            for (const Position ranks : {2, 5, 8, 11}) {
                std::vector<std::int32_t> host_of;
                for (Position p = 0; p < ranks; ++p)
                    host_of.push_back(static_cast<std::int32_t>(random() % 4));
                const Choice of =
                    choice("intra=" + std::string(intra) + ",inter=" + std::string(inter) +
                           ",leaders=" + std::to_string(1 + random() % 3));
                const Topology topology(host_of);
                const Position hosts = topology.hosts();
                const bool runs = algorithms::find(Collective::allreduce, inter).runs(hosts);
                const std::string why = misfit(of, problem_of(of, ranks, 0, {}, topology));
                CHECK((why == "") == runs);
                if (runs)
                    prove(of, topology);
                else
                    CHECK(why == "cannot run with inter=" + std::string(inter) +
                                     ", which cannot run on " + std::to_string(hosts) + " ranks");
            }
}

TEST_CASE("the other collectives over all hosts, from every root, and with unequal shares") {
    std::mt19937 random(11);
    for (const Collective collective : {Collective::broadcast, Collective::reduce,
                                        Collective::reduce_scatter, Collective::allgather}) {
        CAPTURE(std::string(name(collective)));
        const algorithms::Algorithm &hierarchical = algorithms::find(collective, "hierarchical");
        for (Position ranks = 1; ranks <= (::test::full_tier() ? 12 : 6); ++ranks)
            each_shape(ranks, [&](const Sizes &sizes) {
                const Position most = *std::ranges::min_element(sizes);
                const auto &inters = hierarchical.parameters[1].names;
                for (const std::string &dealt : {std::string(), std::string("cyclic:")})
                    for (const Position leaders : std::set<Position>{1, most}) {
                        const Topology topology = Topology::parse(dealt + text(sizes));
                        const Choice of = algorithms::parse(
                            collective,
                            "hierarchical(inter=" + std::string(inters[random() % inters.size()]) +
                                ",intra=" + kIntra[random() % std::size(kIntra)] +
                                ",leaders=" + std::to_string(leaders) + ")");
                        for (Position root = 0; root < (rooted(collective) ? ranks : 1); ++root)
                            prove_at_least(of, topology, root, {});
                        std::vector<std::uint64_t> shares;
                        for (Position p = 0; p < ranks; ++p)
                            shares.push_back(random() % 4);
                        if (hierarchical.unequal_shares && *std::ranges::max_element(shares) > 0)
                            prove_at_least(of, topology, 0, shares);
                    }
            });
    }
}

TEST_CASE("what runs between hosts and inside them, of every collective") {
    for (const algorithms::Algorithm &each : algorithms::all())
        if (each.of_hosts && each.name == "hierarchical")
            for (const std::string_view inter : each.parameters[1].names) {
                CAPTURE(std::string(inter));
                CHECK(!algorithms::find(each.collective, inter).of_hosts);
                for (const std::string_view intra : each.parameters[0].names) {
                    const Choice of = algorithms::parse(each.collective,
                                                        "hierarchical(inter=" + std::string(inter) +
                                                            ",intra=" + std::string(intra) + ")");
                    const Topology topology = Topology::parse("3,1,2");
                    if (misfit(of, problem_of(of, 6, 4, {}, topology)).empty())
                        prove_at_least(of, topology, rooted(each.collective) ? 4 : 0, {});
                }
            }
}

TEST_CASE("all allreduces that need no arrivals run between hosts") {
    const algorithms::Algorithm &hierarchical =
        algorithms::find(Collective::allreduce, "hierarchical");
    std::set<std::string_view> given(hierarchical.parameters[1].names.begin(),
                                     hierarchical.parameters[1].names.end());
    for (const algorithms::Algorithm &each : algorithms::all())
        if (each.collective == Collective::allreduce)
            CHECK(given.contains(each.name) == !(each.sorted_by_arrival || each.of_hosts));
    std::set<std::string_view> halves(hierarchical.parameters[0].names.begin(),
                                      hierarchical.parameters[0].names.end());
    for (const algorithms::Algorithm &each : algorithms::all())
        if (each.collective == Collective::reduce_scatter)
            CHECK(halves.contains(each.name) == !each.of_hosts);
}

TEST_CASE("without a topology all share one host; caches are groups as well") {
    for (const Position ranks : {1, 2, 5, 8}) {
        const Schedule made = algorithms::make(choice(""), ranks);
        CHECK(equivalent(made, flat("direct", ranks)));
    }
    const Topology caches = Topology::parse("2x4/2");
    const Schedule by_cache = prove(choice("level=cache,inter=direct"), caches);
    CHECK(equivalent(by_cache,
                     algorithms::make(choice("inter=direct"), 8, 0, {}, Topology::parse("4x2"))));
    CHECK_THROWS_AS(algorithms::make(choice(""), 5, 0, {}, caches), Error);
}

TEST_CASE("leaders: as many as are asked for, and as the smallest host has") {
    const auto leaders = [](const char *parameters, const char *hosts) {
        const Topology topology = Topology::parse(hosts);
        const Schedule made =
            algorithms::make(choice(parameters), topology.ranks(), 0, {}, topology);
        std::set<Position> found;
        for (Position p = 0; p < made.ranks; ++p)
            for (const Op &op : made.program(p).ops)
                if (op.peer >= 0 && topology.host_of()[static_cast<std::size_t>(op.peer)] !=
                                        topology.host_of()[static_cast<std::size_t>(p)])
                    found.insert(p);
        return found;
    };
    using Set = std::set<Position>;
    CHECK(leaders("leaders=1", "2x3") == Set{0, 3});
    CHECK(leaders("leaders=2", "2x3") == Set{0, 1, 3, 4});
    CHECK(leaders("", "2x3") == Set{0, 1, 2, 3, 4, 5});
    CHECK(leaders("leaders=2", "cyclic:2x3") == Set{0, 1, 2, 3});
    CHECK(leaders("leaders=3", "3,2") == Set{0, 1, 3, 4});
    CHECK(leaders("leaders=2", "3,1,2") == Set{0, 3, 4});
    CHECK(leaders("", "1x4") == Set{}); // one host
}

TEST_CASE("traffic between hosts is that of the inter algorithm, for any number of leaders") {
    constexpr std::size_t kCount = 960;
    for (const char *inter : {"ring", "direct", "recursive_doubling", "circulant"}) {
        const Topology topology = Topology::parse("4x3");
        const std::size_t once = account(flat(inter, 4), kCount, 1).most.bytes_sent;
        for (const int leaders : {1, 2, 3}) {
            const Schedule made = algorithms::make(
                choice(std::string("inter=") + inter + ",leaders=" + std::to_string(leaders)), 12,
                0, {}, topology);
            const std::vector<std::size_t> bounds = made.partition.bounds(kCount);
            for (Position host = 0; host < 4; ++host) {
                std::size_t sent = 0;
                for (Position p = 3 * host; p < 3 * host + 3; ++p)
                    for (const Op &op : made.program(p).ops)
                        if (op.kind == OpKind::send && op.peer / 3 != host)
                            for (const Block b : op.blocks)
                                sent += bounds[static_cast<std::size_t>(b) + 1] -
                                        bounds[static_cast<std::size_t>(b)];
                CAPTURE(inter);
                CHECK(sent == once);
            }
        }
    }
    // Steps of the stages, one after the other.
    const auto steps = [](const char *parameters, const char *hosts) {
        const Topology topology = Topology::parse(hosts);
        return account(algorithms::make(choice(parameters), topology.ranks(), 0, {}, topology))
            .steps;
    };
    CHECK(steps("intra=direct,inter=ring", "4x3") == 1 + 6 + 1);
    CHECK(steps("intra=ring,inter=ring", "4x3") == 2 + 6 + 2);
    CHECK(steps("intra=recursive_halving,inter=recursive_doubling", "8x4") == 2 + 3 + 2);
    CHECK(steps("intra=direct,inter=recursive_doubling,leaders=1", "8x4") == 1 + 3 + 1);
}

TEST_CASE("where hosts are alike it looks the same from every rank") {
    const auto made = [](const char *parameters, const char *hosts) {
        const Topology topology = Topology::parse(hosts);
        return prove(choice(parameters), topology);
    };
    CHECK(made("intra=direct,inter=ring", "4x3").symmetry == Symmetry({4, 3}));
    CHECK(made("intra=direct,inter=ring", "cyclic:4x3").symmetry == Symmetry({3, 4}));
    CHECK(made("intra=ring,inter=recursive_doubling", "4x3").symmetry == Symmetry({2, 2, 3}));
    CHECK(made("intra=recursive_halving,inter=circulant", "cyclic:3x4").symmetry ==
          Symmetry({2, 2, 3}));
    CHECK(made("intra=circulant,inter=generalized", "5x3").symmetry == Symmetry({5, 3}));
    CHECK(made("", "1x6").symmetry == Symmetry({6}));
    CHECK(made("", "6x1").symmetry == Symmetry({6}));
    CHECK(!made("leaders=2", "4x3").symmetry);                // others do less than leaders
    CHECK(!made("", "3,2,2").symmetry);                       // hosts differ
    CHECK(!made("", "map:0,0,1,0,1,1").symmetry);             // no pattern
    CHECK(!made("inter=recursive_doubling", "3x2").symmetry); // 3 are no cube
    CHECK(made("intra=direct,inter=direct", "4x3").alike);
    CHECK(made("intra=ring,inter=recursive_doubling", "cyclic:4x3").alike);
    CHECK(made("", "4x1").alike); // a ring
    CHECK(made("intra=direct,inter=ring", "4x3").alike);
    CHECK(!made("intra=circulant,inter=direct", "5x4").alike); // its blocks have an order
}

TEST_CASE("each stage has lanes of its own") {
    const Topology topology = Topology::parse("3x4");
    const Schedule made =
        algorithms::make(choice("intra=generalized,inter=segmented_ring"), 12, 0, {}, topology);
    for (Position p = 0; p < 12; ++p) {
        std::set<Lane> inside, between;
        for (const Op &op : made.program(p).ops)
            if (op.peer >= 0)
                (op.peer / 4 == p / 4 ? inside : between).insert(op.lane);
        CHECK(inside.size() == 2); // there and back
        for (const Lane lane : between)
            CHECK(!inside.contains(lane));
    }
}

TEST_CASE("compose: parts of any collective, any positions and blocks") {
    // 0 and 2 reduce, then 0 tells 1: blocks of the parts are the whole's in another order.
    const auto reduced = [](const std::vector<algorithms::Blocks> &blocks) {
        return compose(
            3, Partition::equal(2),
            {{{shared(flat("direct", 2)), {2, 0}, blocks}, {shared(flat("ring", 1)), {1}, {{0}}}},
             {{shared(flat("linear", 2, Collective::reduce)), {0, 1}, {{0, 1}}}},
             {{shared(flat("linear", 3, Collective::broadcast)), {0, 1, 2}, {{1, 0}}}}});
    };
    CHECK(verify(reduced({{1}, {0}})).failure == "");
    CHECK(verify(reduced({{0}, {1}})).failure == "");
    CHECK(verify(reduced({{0}, {}})).failure != ""); // block 1 of 2 is lost
    // What a part says of order it says of its own ops, wherever they come to stand.
    Schedule ordered = flat("linear", 2);
    ordered.program = [inner = ordered.program](Position p) {
        Program program = inner(p);
        for (std::size_t i = 1; i < program.ops.size(); ++i)
            program.ops[i].after = {static_cast<std::int32_t>(i - 1)};
        return program;
    };
    const Schedule twice =
        compose(2, Partition::even(2),
                {{{shared(ordered), {0, 1}, {{0}}}}, {{shared(ordered), {1, 0}, {{1}}}}});
    CHECK(verify(twice).failure == "");
    const std::vector<Op> ops = twice.program(0).ops;
    const std::size_t half = ops.size() / 2;
    CHECK(ops[half].after.empty());
    CHECK(ops[half + 1].after == std::vector<std::int32_t>{static_cast<std::int32_t>(half)});
}

TEST_CASE("compose refuses parts without a place") {
    const Part pair{shared(flat("direct", 2)), {0, 1}, {{0}, {0}}};
    Part part = pair;
    part.positions = {0};
    CHECK(refused({{part}}));
    part.positions = {0, 3};
    CHECK(refused({{part}}));
    part.positions = {1, 1};
    CHECK(refused({{part}}));
    part = pair;
    part.blocks = {{0}};
    CHECK(refused({{part}}));
    part.blocks = {{0}, {1}};
    CHECK(refused({{part}}));
    CHECK(refused({{pair, pair}})); // both in one stage
    CHECK(!refused({{pair}, {pair}}));
    Schedule special = flat("direct", 2);
    special.token = Token{};
    part = pair;
    part.schedule = shared(special);
    CHECK(refused({{part}}));
    special = flat("direct", 2);
    special.program = [inner = special.program](Position p) {
        Program program = inner(p);
        program.open.recv = 1;
        return program;
    };
    part.schedule = shared(special);
    CHECK(refused({{part}}));
}

TEST_CASE("names are values of parameters") {
    const Choice given = choice("leaders=2,inter=direct , intra=ring");
    CHECK(to_text(given) == "hierarchical(inter=direct, intra=ring, leaders=2)");
    CHECK(to_text(algorithms::parse(Collective::allreduce, to_text(given))) == to_text(given));
    const auto refusal = [](const char *parameters) -> std::string {
        try {
            (void)choice(parameters);
        } catch (const Error &error) {
            return error.what();
        }
        return "";
    };
    CHECK(refusal("inter=rong").find("inter is one of ring, direct, ") != std::string::npos);
    CHECK(refusal("inter=0").find("inter is one of ring, direct, ") != std::string::npos);
    CHECK(refusal("leaders=0").find("leaders is a number from 1 to 4096") != std::string::npos);
}
