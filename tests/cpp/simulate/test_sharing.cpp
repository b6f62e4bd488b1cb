// SPDX-License-Identifier: BSD-3-Clause
// Ports of hosts and uplinks of racks, on examples that can be done by hand.
#include "doctest.h"

#include <numeric>
#include <random>
#include <vector>

#include "base/status.hpp"
#include "simulate/times.hpp"
#include "support/schedules.hpp"

using namespace stretto;
using namespace stretto::test;
using simulate::Mode;
using simulate::Problem;
using simulate::Sharing;

namespace {

constexpr Mode kModes[] = {Mode::posted, Mode::arrived, Mode::eager, Mode::ordered};

// One byte takes a second on its way and nothing to reduce.
Problem units(Sharing sharing, Mode mode = Mode::posted, std::size_t count = 4) {
    Problem problem = test::units(mode, {}, count);
    problem.network.gamma = 0;
    problem.sharing = std::move(sharing);
    return problem;
}

struct Hop {
    Position from, to;
};

// Block i goes the i-th way; who sends several does it in this order.
Schedule messages(Position ranks, const std::vector<Hop> &hops) {
    auto programs = empty_programs(ranks);
    for (Block b = 0; b < static_cast<Block>(hops.size()); ++b) {
        const auto [from, to] = hops[static_cast<std::size_t>(b)];
        ops_of(programs, from).push_back(send(to, {b}));
        ops_of(programs, to).push_back(recv(from, {b}));
    }
    return assemble("messages", {Collective::broadcast, ranks, static_cast<Block>(hops.size())},
                    std::move(programs));
}

std::vector<double> finish(const Schedule &schedule, const Sharing &sharing,
                           Mode mode = Mode::posted, std::vector<double> arrivals = {}) {
    Problem problem = units(sharing, mode, static_cast<std::size_t>(schedule.blocks()));
    problem.arrivals = std::move(arrivals);
    return simulate::simulate(schedule, problem).finish;
}

std::vector<std::uint32_t> each_its_own(Position ranks) {
    std::vector<std::uint32_t> places(static_cast<std::size_t>(ranks));
    std::iota(places.begin(), places.end(), 0);
    return places;
}

} // namespace

TEST_CASE("positions of a host take turns at its port, one out and one in") {
    const Sharing pairs = {.host_of = {0, 0, 1, 1}, .rack_of = {}};
    for (const Mode mode : kModes) {
        CAPTURE(static_cast<int>(mode));
        // Out of one host: 0 goes first, as both could at once.
        CHECK(finish(messages(4, {{0, 2}, {1, 3}}), pairs, mode) ==
              std::vector<double>{1, 2, 1, 2});
        CHECK(finish(messages(4, {{0, 2}, {1, 3}}), {}, mode) == std::vector<double>(4, 1));
        // Into one host.
        const Sharing last_two = {.host_of = {0, 1, 2, 2}, .rack_of = {}};
        CHECK(finish(messages(4, {{0, 2}, {1, 3}}), last_two, mode) ==
              std::vector<double>{1, 2, 1, 2});
        // Out and in at once, and within hosts.
        CHECK(finish(messages(4, {{0, 2}, {3, 1}}), pairs, mode) == std::vector<double>(4, 1));
        CHECK(finish(messages(4, {{0, 1}, {2, 3}}), pairs, mode) == std::vector<double>(4, 1));
    }
}

TEST_CASE("hosts of a rack share its uplinks, up and down") {
    const Schedule two_ways = messages(4, {{0, 2}, {1, 3}});
    for (const Mode mode : kModes) {
        CAPTURE(static_cast<int>(mode));
        const Sharing one_up = {.host_of = {}, .rack_of = {0, 0, 1, 1}, .uplinks = 1};
        CHECK(finish(two_ways, one_up, mode) == std::vector<double>{1, 2, 1, 2});
        const Sharing two_up = {.host_of = {}, .rack_of = {0, 0, 1, 1}, .uplinks = 2};
        CHECK(finish(two_ways, two_up, mode) == std::vector<double>(4, 1));
        // From two racks down into one.
        const Sharing one_down = {.host_of = {}, .rack_of = {0, 1, 2, 2}, .uplinks = 1};
        CHECK(finish(two_ways, one_down, mode) == std::vector<double>{1, 2, 1, 2});
        // What stays in a rack needs none.
        CHECK(finish(messages(4, {{0, 1}, {2, 3}}), one_up, mode) == std::vector<double>(4, 1));
        // Three at two uplinks: two go, then one.
        const Sharing six = {.host_of = {}, .rack_of = {0, 0, 0, 1, 1, 1}, .uplinks = 2};
        CHECK(finish(messages(6, {{0, 3}, {1, 4}, {2, 5}}), six, mode) ==
              std::vector<double>{1, 1, 2, 1, 1, 2});
    }
}

TEST_CASE("hosts and racks together: four positions, two hosts a rack") {
    // 0 and 1 share a host, 2 and 3 another; 4 ... 7 are in another rack, with one host for all.
    const Sharing sharing = {
        .host_of = {0, 0, 1, 1, 2, 2, 2, 2}, .rack_of = {0, 0, 1}, .uplinks = 1};
    // One after the other through the uplink and host 2's port: 0, 1, 2, 3.
    CHECK(finish(messages(8, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}), sharing) ==
          std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4});
    // 0 -> 2 stays in the rack and leaves its host first; 3 -> 7 goes up meanwhile, then 1 -> 5.
    CHECK(finish(messages(8, {{0, 2}, {1, 5}, {3, 7}}), sharing) ==
          std::vector<double>{1, 2, 1, 1, 0, 2, 0, 1});
}

TEST_CASE("a message that waits for one port holds no other") {
    const Sharing pairs = {.host_of = {0, 0, 1, 1}, .rack_of = {}};
    // 0 comes at 1/2, when 1 -> 3 is on its way out of their host; 0 -> 1 need not leave it, and
    // 0 -> 2 goes when that is done.
    const Schedule three = messages(4, {{0, 2}, {1, 3}, {0, 1}});
    CHECK(finish(three, pairs, Mode::arrived, {0.5, 0, 0, 0}) ==
          std::vector<double>{2.5, 1.5, 2.5, 1});
}

TEST_CASE("a ring over hosts of four: dealt, all of it leaves the host") {
    Sharing blocks, dealt;
    for (std::uint32_t p = 0; p < 16; ++p) {
        blocks.host_of.push_back(p / 4);
        dealt.host_of.push_back(p % 4);
    }
    const auto last = [](const Sharing &sharing) {
        return simulate::simulate(allreduce("ring", 16), units(sharing, Mode::posted, 16)).makespan;
    };
    CHECK(last({}) == 30);
    CHECK(last(blocks) == 30);
    // 30 messages of each of 4 positions, one after the other.
    CHECK(last(dealt) == 120);
}

TEST_CASE("without shared links nothing changes") {
    std::mt19937 random(5);
    for (const Position ranks : {1, 2, 3, 5, 7, 8, 13, 16})
        for (const algorithms::Algorithm &algorithm : algorithms::all()) {
            if (!algorithm.runs(ranks))
                continue;
            const Schedule schedule =
                algorithms::make({.algorithm = &algorithm, .parameters = {}}, ranks);
            for (const Mode mode : kModes) {
                CAPTURE(schedule.name);
                CAPTURE(ranks);
                CAPTURE(static_cast<int>(mode));
                Problem problem = units({}, mode,
                                        schedule.partition.fitting(
                                            static_cast<std::size_t>(schedule.blocks() * 3 + 1)));
                problem.network = {10, 1, 0.5};
                for (Position p = 0; p < ranks; ++p)
                    problem.arrivals.push_back(std::uniform_int_distribution<>(0, 40)(random));
                const std::vector<double> alone = simulate::simulate(schedule, problem).finish;
                const auto same = [&](Sharing sharing) {
                    problem.sharing = std::move(sharing);
                    return simulate::simulate(schedule, problem).finish == alone;
                };
                const auto own = each_its_own(ranks);
                const std::vector<std::uint32_t> one(own.size(), 0);
                CHECK(same({.host_of = own, .rack_of = {}}));
                CHECK(same({.host_of = one, .rack_of = {}}));
                CHECK(same({.host_of = own, .rack_of = one}));
                CHECK(same({.host_of = {}, .rack_of = own}));
                // As many uplinks as hosts.
                std::vector<std::uint32_t> halves;
                for (const std::uint32_t p : own)
                    halves.push_back(p / 2);
                CHECK(same({.host_of = {}, .rack_of = halves, .uplinks = 2}));
            }
        }
}

TEST_CASE("places that do not fit are refused") {
    const auto refused = [](const Sharing &sharing, const char *why) {
        CHECK_THROWS_WITH_AS(simulate::simulate(ring(4), units(sharing)), doctest::Contains(why),
                             Error);
    };
    refused({.host_of = {0, 1, 1}, .rack_of = {}}, "3 hosts for 4 positions");
    refused({.host_of = {0, 1, 4, 1}, .rack_of = {}}, "a number 4 among the hosts");
    refused({.host_of = {0, 0, 1, 1}, .rack_of = {0, 0, 1, 1}}, "4 racks for 2 hosts");
    refused({.host_of = {}, .rack_of = {0, 0, 4'000'000'000, 1}}, "a number 4000000000 among");
    refused({.host_of = {}, .rack_of = {0, 0, 1, 1}, .uplinks = 0}, "at least 1 uplink");
}
