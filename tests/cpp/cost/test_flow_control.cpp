// SPDX-License-Identifier: BSD-3-Clause
// Positions that are ahead of a late one by at most what their rings hold.
#include "doctest.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "cost/each_algorithm.hpp"
#include "cost/elapsed.hpp"
#include "cost/indexed_network.hpp"
#include "cost/pieces.hpp"
#include "cost/streams.hpp"
#include "cost/walk.hpp"

using namespace stretto;
using cost::Elapsed, cost::Network, cost::Streams;
using schedule::Collective, schedule::Position, schedule::Schedule;

namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr std::size_t kUncut = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kSegmentBytes = 1024; // takes a port a second
constexpr double kCellBytes = kSegmentBytes + 64;

// Ports alone take time.
Network of_ports(double ring) {
    return {.host_of = {},
            .inside = {},
            .between = {.byte = 1.0 / kSegmentBytes},
            .eager = kUncut,
            .ring = ring};
}

Schedule chain(Collective collective, Position ranks, std::size_t segments, Position root) {
    const std::string name = "chain(segments=" + std::to_string(segments) + ")";
    return algorithms::make(algorithms::parse(collective, name), ranks, root);
}

Elapsed elapsed(const Schedule &schedule, std::size_t segments, double ring,
                const cost::Arrivals &arrivals) {
    const cost::IndexedNetwork network(of_ports(ring), schedule.ranks);
    const std::vector<cost::Arrivals> cases = {arrivals};
    return cost::elapsed(schedule, segments * kSegmentBytes, 1, kUncut, network, cases).front();
}

// A few segments.
std::size_t count_for(const Schedule &schedule) {
    return schedule.partition.fitting(20 * kSegmentBytes);
}

using stretto::test::each_algorithm;

} // namespace

// Each position but the first takes a segment when it may pass it on.  So when the root comes, its
// neighbour has sent it a ring, and the position before that two rings, of which the neighbour has
// taken one.
TEST_CASE("each position of a chain is a ring ahead of the next one") {
    constexpr std::size_t kRingCells = 8, kSegments = 64;
    constexpr double kLate = 1000; // seconds: all that can be sent has been
    for (const Position ranks : {2, 3, 5, 8}) {
        CAPTURE(ranks);
        const Position root = ranks - 1;
        const Schedule reduce = chain(Collective::reduce, ranks, kSegments, root);
        cost::Arrivals arrivals(static_cast<std::size_t>(ranks), 0);
        arrivals.back() = kLate;
        const Elapsed found = elapsed(reduce, kSegments, kRingCells * kCellBytes, arrivals);
        CHECK(found.last == kLate + kSegments - kRingCells);
        double sum = found.last - kLate; // of finish - arrival
        for (Position ahead = 1; ahead < ranks; ++ahead) {
            const std::size_t held = static_cast<std::size_t>(ahead + 1) * kRingCells;
            sum += kLate + static_cast<double>(kSegments - held);
        }
        CHECK(found.mean == sum / ranks);
        // The bound, which an endless ring reaches.
        CHECK(elapsed(reduce, kSegments, kEndless, arrivals).last == kLate);
    }
}

TEST_CASE("a piece that several read has one cell, and the slowest reader holds it") {
    // 0 sends a vector in 16 blocks to 1 and to 2, which comes late.
    constexpr Position kRanks = 3;
    constexpr std::size_t kBlocks = 16, kRingCells = 4;
    Schedule both = chain(Collective::broadcast, kRanks, kBlocks, 0);
    both.symmetry = {};
    both.program = [](Position position) {
        schedule::Program program;
        for (schedule::Block block = 0; block < static_cast<schedule::Block>(kBlocks); ++block)
            if (position == 0)
                for (const Position to : {1, 2})
                    program.ops.push_back(schedule::send(to, {block}));
            else
                program.ops.push_back(schedule::recv(0, {block}));
        return program;
    };
    const cost::Arrivals arrivals = {0, 0, 1000};
    const Elapsed found = elapsed(both, kBlocks, kRingCells * kCellBytes, arrivals);
    // Of the other twelve blocks each goes out twice.
    CHECK(found.last == 1000 + 2 * (kBlocks - kRingCells));
    CHECK(elapsed(both, kBlocks, kBlocks * kCellBytes, arrivals).last == 1000);
}

TEST_CASE("a position takes in order, as far as others see") {
    // 1 receives a block from 2, which is late, and then the others from 0.
    constexpr std::size_t kBlocks = 16, kRingCells = 4;
    Schedule ordered = chain(Collective::broadcast, 3, kBlocks, 0);
    ordered.symmetry = {};
    ordered.program = [](Position position) {
        schedule::Program program;
        if (position != 0)
            program.ops.push_back(position == 1 ? schedule::recv(2, {0}) : schedule::send(1, {0}));
        for (schedule::Block block = 1; block < static_cast<schedule::Block>(kBlocks); ++block)
            if (position != 2)
                program.ops.push_back(position == 0 ? schedule::send(1, {block})
                                                    : schedule::recv(0, {block}));
        return program;
    };
    const Elapsed found = elapsed(ordered, kBlocks, kRingCells * kCellBytes, {0, 0, 1000});
    // First the block of 2, then those for which the ring of 0 had no room.
    CHECK(found.last == 1000 + 1 + (kBlocks - 1 - kRingCells));
}

TEST_CASE("an endless ring changes no time of any algorithm") {
    std::minstd_rand random(11);
    each_algorithm(16, [&](const Schedule &schedule) {
        const cost::IndexedNetwork network(of_ports(kEndless), schedule.ranks);
        const cost::Pieces pieces =
            cost::pieces_of(schedule, count_for(schedule), 1, kSegmentBytes / 2, network, {}, true);
        CHECK(cost::streams_of(pieces, kEndless).empty());
        Streams streams = cost::streams_of(pieces, 3 * kCellBytes);
        streams.ring = kEndless;
        cost::Arrivals arrivals(static_cast<std::size_t>(schedule.ranks), 0);
        for (double &arrival : arrivals)
            arrival = static_cast<double>(random() % 16);
        const cost::Walk without = cost::walk(pieces, kEndless, arrivals);
        const cost::Walk with = cost::walk(pieces, kEndless, arrivals, streams);
        CHECK(without.ended);
        CHECK(with.ended);
        CHECK(with.finish == without.finish);
    });
}

TEST_CASE("however short rings are, all algorithms come to an end") {
    each_algorithm(13, [&](const Schedule &schedule) {
        cost::Arrivals arrivals(static_cast<std::size_t>(schedule.ranks), 0);
        arrivals.back() = 5;
        const std::vector<cost::Arrivals> cases = {arrivals};
        for (const double cells : {0.5, 3.0, 10.0}) {
            CAPTURE(cells);
            const cost::IndexedNetwork network(of_ports(cells * kCellBytes), schedule.ranks);
            CHECK_NOTHROW(
                cost::elapsed(schedule, count_for(schedule), 1, kSegmentBytes / 2, network, cases));
        }
    });
}
