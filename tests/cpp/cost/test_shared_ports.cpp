// SPDX-License-Identifier: BSD-3-Clause
// Prices over hosts whose ranks share ports, of which it was measured what several pairs move.
#include "doctest.h"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "cost/price.hpp"
#include "schedule/topology.hpp"

using namespace stretto;
using cost::Concurrency;
using cost::Link;
using cost::Network;
using schedule::Collective;
using schedule::Topology;

namespace {

constexpr std::size_t kUncut = std::numeric_limits<std::size_t>::max();
constexpr Link kOfByte = {0, 0, 1e-8, 0};
constexpr Link kFree = {0, 0, 0, 0};

// k pairs move `most` times what one moves, or k times if that is less.
Concurrency up_to(double most) {
    Concurrency found{.pairs = {1, 2, 4, 8}, .rows = {{1, 1e8, {}}}, .how = ""};
    for (const int pairs : found.pairs)
        found.rows[0].relative.push_back(std::min<double>(pairs, most));
    return found;
}

double seconds(const std::string &text, const char *hosts, std::size_t bytes, Network network) {
    const Topology topology = Topology::parse(hosts);
    network.host_of = topology.host_of();
    const schedule::Schedule made = algorithms::make(algorithms::parse(Collective::allreduce, text),
                                                     topology.ranks(), 0, {}, topology);
    return cost::price(made, bytes, 1, kUncut, network).seconds;
}

doctest::Approx near(double value) {
    return doctest::Approx(value).epsilon(1e-9).scale(1e-9);
}

} // namespace

TEST_CASE("leaders that send at the same time move as much as pairs were measured to") {
    // Of 8 hosts of 8, in three exchanges between hosts with one link that is free inside: a leader
    // sends its part, 1 / L of the vector, each time.
    constexpr std::size_t kBytes = 1 << 20;
    const double once = 1e-8 * kBytes;
    for (const int leaders : {1, 2, 4, 8})
        for (const double most : {1.0, 2.0, 4.0, 8.0}) {
            CAPTURE(leaders);
            CAPTURE(most);
            const std::string text =
                "hierarchical(inter=recursive_doubling, leaders=" + std::to_string(leaders) + ")";
            const double found = seconds(
                text, "8x8", kBytes,
                {.host_of = {}, .inside = kFree, .between = kOfByte, .between_pairs = up_to(most)});
            // The pieces of the leaders follow one another through the port of their host.
            const double part = once / leaders, port = part / most;
            CHECK(found >= 3 * std::max(part, leaders * port) * (1 - 1e-9));
            CHECK(found <= 3 * (part + (leaders - 1) * port) * (1 + 1e-9));
            if (most == 1)
                CHECK(found == near(seconds(text, "8x8", kBytes,
                                            {.host_of = {}, .inside = kFree, .between = kOfByte})));
        }
}

TEST_CASE("what ranks of a host move inside it shares a port, if that was measured") {
    // A reduction by direct exchange inside: every rank takes m / P from each of P - 1, twice.
    constexpr std::size_t kBytes = 1 << 20;
    const auto found = [&](const Concurrency &pairs) {
        return seconds("hierarchical(inter=ring)", "2x4", kBytes,
                       {.host_of = {}, .inside = kOfByte, .between = kFree, .inside_pairs = pairs});
    };
    const double each = 1e-8 * kBytes / 4 * 3 * 2;
    CHECK(found({}) == near(each));
    CHECK(found(up_to(1)) == near(4 * each)); // one pair fills the memory
    // 4 ranks are two pairs; the first piece and the last are alone.
    CHECK(found(up_to(2)) >= 2 * each);
    CHECK(found(up_to(2)) <= 2 * each + 2 * 1e-8 * kBytes / 4);
    CHECK(found(up_to(8)) == found(up_to(2)));
}

TEST_CASE("one position stands for all of its class with shared ports as well") {
    for (const double most : {1.0, 1.5, 3.0})
        for (const char *hosts : {"4x4", "cyclic:4x4", "3x2"}) {
            const Topology topology = Topology::parse(hosts);
            schedule::Schedule made = algorithms::make(
                algorithms::parse(Collective::allreduce, "ring"), topology.ranks());
            const Network network{.host_of = topology.host_of(),
                                  .inside = {1e-6, 1e-7, 1e-9, 0},
                                  .between = {1e-5, 1e-6, 1e-8, 0},
                                  .inside_pairs = up_to(most),
                                  .between_pairs = up_to(most)};
            const std::size_t bytes = 1000 * static_cast<std::size_t>(topology.ranks());
            const double one = cost::price(made, bytes, 1, kUncut, network).seconds;
            made.symmetry.reset();
            const double all = cost::price(made, bytes, 1, kUncut, network).seconds;
            CAPTURE(std::string(hosts));
            CAPTURE(most);
            CHECK(one == doctest::Approx(all).epsilon(0.05));
        }
}
