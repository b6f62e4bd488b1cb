// SPDX-License-Identifier: BSD-3-Clause
// Prices against formulas, against the simulator, and one position against all.
#include "doctest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "base/status.hpp"
#include "cost/each_algorithm.hpp"
#include "cost/elapsed.hpp"
#include "cost/indexed_network.hpp"
#include "cost/price.hpp"
#include "schedule/accounting.hpp"
#include "simulate/simulate.hpp"

using namespace stretto;
using cost::Link;
using cost::Network;
using cost::Price;
using schedule::Collective;
using schedule::Position;
using schedule::Schedule;

namespace {

constexpr std::size_t kUncut = std::numeric_limits<std::size_t>::max();
// Latency and overhead together are the alpha of Kolmakov & Zhang, table 2, as are the others.
constexpr Link kLink = {2e-5, 1e-5, 1e-8, 2e-10};
constexpr double kAlpha = 3e-5;
constexpr Link kNoLatency = {0, kAlpha, 1e-8, 2e-10};

Network alone(const Link &link) {
    return {.host_of = {}, .inside = {}, .between = link};
}

Schedule allreduce(const std::string &choice, Position ranks) {
    return algorithms::make(algorithms::parse(Collective::allreduce, choice), ranks);
}

double seconds(const std::string &choice, Position ranks, std::size_t bytes, std::size_t slice,
               const Link &link) {
    return cost::price(allreduce(choice, ranks), bytes, 1, slice, alone(link)).seconds;
}

// doctest's Approx, but that 0 is near 0.
doctest::Approx near(double value) {
    return doctest::Approx(value).epsilon(1e-9).scale(1e-9);
}

int log2_ceil(Position ranks) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

// What circulant hides of its messages behind others that they need nothing of.  On the way out the
// second message needs nothing of the first where P, halved, comes by 3; where it comes by 5 the
// third needs nothing of the second either, so that the first of the three alone is waited for.
double hidden(Position ranks, double block) {
    double seconds = 0;
    for (Position left = ranks; left > 1; left = (left + 1) / 2)
        seconds += left == 3   ? kLink.latency
                   : left == 5 ? std::min(kLink.latency, kLink.overhead + kLink.byte * block)
                               : 0;
    return seconds;
}

bool canonical_fold(const std::string &name) {
    return name == "direct_canonical" || name == "one_shot_canonical";
}

using stretto::test::each_algorithm;

} // namespace

TEST_CASE("uncut, a price is the formula of the algorithm") {
    const double beta = kLink.byte, gamma = kLink.reduce;
    for (Position ranks = 2; ranks <= 130; ++ranks)
        for (const std::size_t block : {1, 24, 5000, 1'000'000}) {
            CAPTURE(ranks);
            CAPTURE(block);
            const auto u = static_cast<double>(block);
            const double others = ranks - 1, m = u * ranks;
            const std::size_t bytes = block * static_cast<std::size_t>(ranks);
            CHECK(seconds("ring", ranks, bytes, kUncut, kLink) ==
                  near(2 * others * (kAlpha + beta * u) + others * gamma * u));
            // Kolmakov & Zhang, equation (25), whatever part of alpha is which.
            const double optimal =
                2 * log2_ceil(ranks) * kAlpha + 2 * others * beta * u + others * gamma * u;
            CHECK(seconds("circulant", ranks, bytes, kUncut, kNoLatency) == near(optimal));
            CHECK(seconds("circulant", ranks, bytes, kUncut, kLink) ==
                  near(optimal - hidden(ranks, u)));
            if (!std::has_single_bit(static_cast<unsigned>(ranks)))
                continue;
            const int k = log2_ceil(ranks);
            CHECK(seconds("recursive_doubling", ranks, bytes, kUncut, kLink) ==
                  near(k * (kAlpha + (beta + gamma) * m)));
            CHECK(seconds("rabenseifner", ranks, bytes, kUncut, kLink) ==
                  near(2 * k * kAlpha + 2 * others * beta * u + others * gamma * u));
        }
}

TEST_CASE("in slices, a ring pays its latency once") {
    for (const Position ranks : {2, 3, 8, 50})
        for (const std::size_t slices : {4, 8}) {
            CAPTURE(ranks);
            CAPTURE(slices);
            const std::size_t block = 80'000;
            const double piece = static_cast<double>(block / slices);
            CHECK(seconds("ring", ranks, block * static_cast<std::size_t>(ranks), block / slices,
                          kLink) == near(2 * (ranks - 1) * static_cast<double>(slices) *
                                             (kLink.overhead + kLink.byte * piece) +
                                         kLink.latency));
        }
    // So it beats circulant for long vectors, which alpha, beta and gamma alone cannot say.
    const std::size_t bytes = 64 << 20;
    CHECK(seconds("ring", 8, bytes, kUncut, kLink) > seconds("circulant", 8, bytes, kUncut, kLink));
    CHECK(seconds("ring", 8, bytes, 128 << 10, kLink) <
          seconds("circulant", 8, bytes, 128 << 10, kLink) * 1.01);
}

TEST_CASE("more slices than are walked cost their overheads all the same") {
    const Link link = {0, 1e-5, 0, 0};
    for (const std::size_t slice : {1000, 10'000, 100'000})
        CHECK(seconds("ring", 4, 4'000'000, slice, link) ==
              near(6 * link.overhead * (1e6 / static_cast<double>(slice))));
}

TEST_CASE("uncut and without latency, a price is the time of the simulator") {
    const simulate::Network network{kAlpha, kNoLatency.byte, kNoLatency.reduce};
    each_algorithm(24, [&](Schedule schedule) {
        // The simulator takes what comes at a port in the order of the program, a price as it
        // comes: in these a chain between the steps of a ring, and chunks that overtake.
        if (schedule.name.starts_with("late_last") || schedule.name == "salar")
            return;
        schedule.symmetry.reset();
        for (const std::size_t block : {1, 1000}) {
            simulate::Problem problem;
            problem.count = block * static_cast<std::size_t>(schedule.blocks());
            problem.network = network;
            problem.mode = simulate::Mode::ordered;
            const double price =
                cost::price(schedule, problem.count, problem.element, kUncut, alone(kNoLatency))
                    .seconds;
            const double simulated = simulate::simulate(schedule, problem).makespan;
            CHECK(price <= simulated * (1 + 1e-9));
            // There a message takes both its ports at the same time, so that one which is out of
            // step holds up another.
            if (schedule.name != "direct_canonical")
                CHECK(price == near(simulated));
        }
    });
}

TEST_CASE("one position of a symmetric schedule costs what all do") {
    each_algorithm(24, [](const Schedule &one) {
        if (!one.symmetry)
            return;
        Schedule all = one;
        all.symmetry.reset();
        const auto blocks = static_cast<std::size_t>(one.blocks());
        for (const std::size_t block : {1, 100, 4000})
            for (const std::size_t slice : {std::size_t{900}, std::size_t{9000}, kUncut}) {
                CAPTURE(block);
                CAPTURE(slice);
                const Price price = cost::price(one, block * blocks, 4, slice, alone(kLink));
                const Price walked = cost::price(all, block * blocks, 4, slice, alone(kLink));
                CHECK(price.steps <= walked.steps);
                CHECK(price.messages == walked.messages);
                CHECK(price.bytes_sent == walked.bytes_sent);
                CHECK(price.bytes_received == walked.bytes_received);
                CHECK(price.bytes_reduced == walked.bytes_reduced);
                CHECK(price.seconds <= walked.seconds * (1 + 1e-9));
                // Short blocks that are sent in several pieces go together with others at each
                // position, and the canonical tree joins others first.
                const bool regrouped = block == 100 && slice == 900;
                if (regrouped || canonical_fold(one.name))
                    CHECK(price.seconds >= walked.seconds * (regrouped ? 0.8 : 0.99));
                else
                    CHECK(price.seconds == near(walked.seconds));
            }
        // Blocks that differ by an element count as the longer ones.
        const std::size_t count = one.partition.fitting(997);
        const double price = cost::price(one, count, 4, kUncut, alone(kLink)).seconds;
        const double walked = cost::price(all, count, 4, kUncut, alone(kLink)).seconds;
        CHECK(std::abs(price - walked) <= 0.02 * walked);
    });
}

TEST_CASE("what all share is waited for, and of messages that start at once by half on top") {
    for (const Position ranks : {1, 2, 3, 5, 7, 8, 13, 16}) {
        CAPTURE(ranks);
        const std::size_t bytes = static_cast<std::size_t>(ranks) * 64;
        const auto price = [&](const Schedule &schedule, double common) {
            Network network = alone(kLink);
            network.common = common;
            const cost::IndexedNetwork placement(network, ranks);
            const double found = cost::price(schedule, bytes, 1, kUncut, placement).seconds;
            const std::vector<cost::Arrivals> at_once{
                cost::Arrivals(static_cast<std::size_t>(ranks), 0)};
            const auto all = cost::elapsed(schedule, bytes, 1, kUncut, placement, at_once);
            CHECK(all.front().last == near(found)); // who stands for all does so here, too
            return found;
        };
        const double messages = 2.0 * ranks * (ranks - 1);
        for (const double common : {1e-9, 1e-7, 1e-4}) {
            CAPTURE(common);
            const Schedule ring = allreduce("ring", ranks);
            CHECK(price(ring, common) == near(std::max(price(ring, 0), common * messages)));
            // Two bursts of each rank, to all others.
            const Schedule direct = allreduce("direct", ranks);
            const double behind = ranks > 2 ? 2.0 * ranks * (ranks - 2) : 0;
            CHECK(price(direct, common) ==
                  near(std::max(price(direct, 0) + common / 2 * behind, common * messages)));
        }
    }
}

TEST_CASE("work of cores that all hosts share adds to what positions wait for") {
    Network network = alone(kLink);
    const double messages = 2.0 * 8 * 7;
    const Schedule ring = allreduce("ring", 8);
    const std::vector<cost::Arrivals> at_once{cost::Arrivals(8, 0)};
    for (const std::size_t slice : {kUncut, std::size_t{16}}) { // a message may be one piece or 4
        network.common = network.cores = 0;
        const auto price = [&] { return cost::price(ring, 8 * 64, 1, slice, network).seconds; };
        const double waiting = price();
        for (const double common : {0.0, 1e-9, 1e-4}) {
            network.common = common;
            for (const unsigned cores : {1u, 2u, 7u}) {
                CAPTURE(cores);
                network.cores = cores;
                const double work = common * messages;
                CHECK(price() == near(std::max(waiting, (1 - 1.0 / cores) * waiting + work)));
                const cost::IndexedNetwork placement(network, 8);
                const auto all = cost::elapsed(ring, 8 * 64, 1, slice, placement, at_once);
                CHECK(all.front().last == near(price()));
            }
        }
    }
}

TEST_CASE("what was found for one schedule serves others over the same network") {
    const Link inside = {2e-6, 1e-6, 1e-9, 2e-10};
    Network network{.host_of = {}, .inside = inside, .between = kLink};
    for (Position p = 0; p < 12; ++p)
        network.host_of.push_back(p / 3);
    const cost::IndexedNetwork placement(network, 12);
    for (const int again : {1, 2})
        for (const std::string choice : {"ring", "generalized(group=4x3)", "generalized(group=3x4)",
                                         "circulant", "binomial"}) {
            CAPTURE(again);
            const Schedule one = allreduce(choice, 12);
            CHECK(cost::price(one, 1200, 4, kUncut, placement).seconds ==
                  cost::price(one, 1200, 4, kUncut, network).seconds);
        }
    CHECK_THROWS_AS(cost::price(allreduce("ring", 11), 1200, 4, kUncut, placement), Error);
}

TEST_CASE("a symmetric schedule that is too much is left behind its first position") {
    const Schedule ring = allreduce("ring", 12);
    Network network{
        .host_of = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4}, .inside = kLink, .between = kLink};
    const std::size_t work = cost::price(ring, 1200, 4, kUncut, network).work;
    int programs = 0;
    Schedule counted = ring;
    counted.program = [&](Position p) {
        ++programs;
        return ring.program(p);
    };
    CHECK_THROWS_AS(cost::price(counted, 1200, 4, kUncut, network, {.work = work / 3}), Error);
    CHECK(programs == 1);
}

TEST_CASE("the positions of some hosts cost what all do") {
    const Link inside = {2e-6, 1e-6, 1e-9, 2e-10};
    const auto compare_on = [&](const Schedule &one, Position ranks, const Network &network) {
        Schedule all = one;
        all.symmetry.reset();
        for (const std::size_t block : {1, 4000})
            for (const std::size_t slice : {std::size_t{9000}, kUncut}) {
                CAPTURE(one.name);
                CAPTURE(ranks);
                CAPTURE(block);
                const std::size_t count = block * static_cast<std::size_t>(one.blocks());
                const Price price = cost::price(one, count, 4, slice, network);
                const Price walked = cost::price(all, count, 4, slice, network);
                CHECK(price.messages == walked.messages);
                CHECK(price.bytes_sent == walked.bytes_sent);
                CHECK(price.bytes_received == walked.bytes_received);
                CHECK(price.pieces == near(walked.pieces));
                // Of messages that come to a port at the same moment another one may go first.
                CHECK(price.seconds == doctest::Approx(walked.seconds).epsilon(0.15));
            }
    };
    const auto compare = [&](const std::string &choice, Position ranks, auto host) {
        Network network{.host_of = {}, .inside = inside, .between = kLink};
        for (Position p = 0; p < ranks; ++p)
            network.host_of.push_back(host(p));
        compare_on(allreduce(choice, ranks), ranks, network);
    };
    // Compositions over hosts that are alike.
    for (const std::string pair : {"inter=ring", "inter=circulant,intra=ring", "inter=generalized",
                                   "inter=direct,intra=recursive_halving"})
        for (const char *hosts : {"3x4", "4x3", "cyclic:3x4", "cyclic:4x2", "8x2"}) {
            const auto placed = schedule::Topology::parse(hosts);
            const Schedule one = algorithms::make(
                algorithms::parse(Collective::allreduce, "hierarchical(" + pair + ")"),
                placed.ranks(), 0, {}, placed);
            CAPTURE(hosts);
            REQUIRE((one.symmetry.has_value() || pair.ends_with("halving")));
            if (one.symmetry)
                compare_on(one, placed.ranks(), {placed.host_of(), inside, kLink});
        }
    for (const std::string choice :
         {"ring", "circulant", "bruck", "direct", "one_shot", "recursive_doubling", "rabenseifner",
          "hybrid", "generalized", "generalized(r=1)", "generalized(r=2)"})
        for (const Position each : {2, 4, 8}) {
            compare(choice, 16, [=](Position p) { return p / each; });
            compare(choice, 16, [=](Position p) { return p % each; });
        }
    for (const std::string choice : {"ring", "circulant", "generalized(group=2x2x3)",
                                     "generalized(group=3x4,r=1)", "generalized(group=4x3,r=2)"})
        for (const Position each : {2, 3, 4, 5, 6}) {
            compare(choice, 12, [=](Position p) { return p / each; });
            compare(choice, 12, [=](Position p) { return p % each; });
            compare(choice, 12, [=](Position p) { return (p + 1) / each; });
        }
}

TEST_CASE("up to a limit a price is the same, and beyond it above the limit") {
    each_algorithm(12, [](const Schedule &schedule) {
        const std::size_t count = 1000 * static_cast<std::size_t>(schedule.blocks());
        const Price whole = cost::price(schedule, count, 4, 9000, alone(kLink));
        if (schedule.ranks == 1)
            return;
        for (const double part : {0.01, 0.5, 0.99}) {
            const cost::Limits limits{.seconds = part * whole.seconds};
            const Price price = cost::price(schedule, count, 4, 9000, alone(kLink), limits);
            CHECK(price.seconds > limits.seconds);
            CHECK(price.seconds <= whole.seconds);
        }
        for (const double part : {1.0, 2.0}) {
            const cost::Limits limits{.seconds = part * whole.seconds};
            const Price price = cost::price(schedule, count, 4, 9000, alone(kLink), limits);
            CHECK(price.seconds == whole.seconds);
            CHECK(price.bytes_sent == whole.bytes_sent);
        }
    });
}

TEST_CASE("what is counted is the accounting") {
    each_algorithm(24, [](const Schedule &schedule) {
        const std::size_t count = 240 * static_cast<std::size_t>(schedule.blocks());
        const schedule::Accounting costs = schedule::account(schedule, count, 4);
        const Price price = cost::price(schedule, count, 4, kUncut, alone(kLink));
        CHECK(price.steps == costs.steps);
        CHECK(price.messages == costs.most.sends);
        CHECK(price.bytes_sent == costs.most.bytes_sent);
        CHECK(price.bytes_received == costs.most.bytes_received);
        CHECK(price.bytes_reduced == costs.most.bytes_reduced);
    });
}

TEST_CASE("positions of a host share its port") {
    const Link inside = {1e-6, 2e-6, 1e-10, 1e-10};
    const double m = 1000;
    const Schedule doubling = allreduce("recursive_doubling", 4);
    const auto price = [&](std::vector<int> host_of) {
        return cost::price(doubling, 1000, 1, kUncut, {std::move(host_of), inside, kLink}).seconds;
    };
    const auto exchange = [&](const Link &link, int at_once) {
        return at_once * (link.overhead + link.byte * m) + link.latency + link.reduce * m;
    };
    // 0 and 1, 2 and 3 exchange first, then 0 and 2, 1 and 3: two messages leave each host.
    CHECK(price({0, 0, 1, 1}) == near(exchange(inside, 1) + exchange(kLink, 2)));
    CHECK(price({7, 9, 7, 9}) == near(exchange(kLink, 2) + exchange(inside, 1)));
    CHECK(price({5, 5, 5, 5}) == near(2 * exchange(inside, 1)));
    CHECK(price({3, 2, 1, 0}) == near(2 * exchange(kLink, 1)));
    CHECK(price({}) == price({3, 2, 1, 0}));
    // Only 3 has a host of its own: 0 and 1 exchange inside while 2 and 3 do it between; then 1 and
    // 3 do, after the slower.
    CHECK(price({0, 0, 0, 1}) == near(2 * exchange(kLink, 1)));
}

TEST_CASE("where a ring is placed decides what it costs") {
    const Link inside = {0, 0, 0, 0}, between = {0, 1, 0, 0};
    const Schedule ring = allreduce("ring", 4);
    const auto price = [&](std::vector<int> host_of) {
        return cost::price(ring, 400, 1, kUncut, {std::move(host_of), inside, between}).seconds;
    };
    CHECK(price({0, 0, 1, 1}) == near(6));  // each step one message leaves a host
    CHECK(price({0, 1, 0, 1}) == near(12)); // two
}

TEST_CASE("what cannot be priced") {
    const Schedule ring = allreduce("ring", 4);
    const auto status = [](const Schedule &schedule, std::size_t count, std::size_t slice,
                           const Network &network, std::size_t work = cost::Limits{}.work) {
        try {
            cost::price(schedule, count, 4, slice, network, {.work = work});
        } catch (const Error &error) {
            return error.status();
        }
        return Status::ok;
    };
    CHECK(status(ring, 100, kUncut, alone(kLink)) == Status::ok);
    CHECK(status(ring, 100, 0, alone(kLink)) == Status::argument);
    CHECK(status(ring, 100, kUncut, alone({-1, 0, 0, 0})) == Status::argument);
    CHECK(status(ring, 100, kUncut, alone({0, 0, std::nan(""), 0})) == Status::argument);
    CHECK(status(ring, 100, kUncut, {{0, 0, 1}, kLink, kLink}) == Status::argument);
    CHECK(status(ring, 100, kUncut, alone(kLink), 10) == Status::unsupported);
    const Schedule alltoall =
        algorithms::make(algorithms::parse(Collective::alltoall, "direct"), 3);
    CHECK(status(alltoall, 100, kUncut, alone(kLink)) == Status::argument);

    Schedule stuck = allreduce("one_shot", 2);
    stuck.symmetry.reset();
    stuck.program = [](Position p) {
        return schedule::Program{.ops = {schedule::recv(1 - p, {0}), schedule::send(1 - p, {0})},
                                 .suffixes = {},
                                 .open = {}};
    };
    CHECK(status(stuck, 100, kUncut, alone(kLink)) == Status::argument);
    stuck.program = [](Position p) {
        return schedule::Program{.ops = {schedule::recv(1 - p, {0})}, .suffixes = {}, .open = {}};
    };
    CHECK(status(stuck, 100, kUncut, alone(kLink)) == Status::argument);
}
