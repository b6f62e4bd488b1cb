// SPDX-License-Identifier: BSD-3-Clause
// The engine plays what the language can say: schedules of the test's own, ranks as threads.
#include "doctest.h"

#include <functional>
#include <future>
#include <numeric>
#include <thread>
#include <vector>

#include "engine/engine.hpp"
#include "support/schedules.hpp"
#include "support/sums.hpp"

using namespace stretto;
using schedule::Collective;
using schedule::Contract;
using schedule::Partition;
using schedule::Position;
using schedule::Schedule;

namespace {

using test::contribution;
using test::Vector;

// What a rank does before its call of this number.
using Before = std::function<void(const transport::Segment &, int rank, int call)>;

void late_by_turns(const transport::Segment &segment, int rank, int call) {
    if (call % segment.ranks() == rank)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// Plays the schedule `calls` times on one segment; gives every rank's last output.
std::vector<Vector> play(const Schedule &schedule, std::size_t count, int calls = 3,
                         std::size_t ring = 1 << 16, const Before &before = late_by_turns) {
    constexpr std::size_t kSliceBytes = 1 << 12;
    transport::SegmentShape shape;
    shape.ranks = schedule.ranks;
    shape.ring_bytes = ring;
    shape.heap_bytes = 1 << 20;
    const auto segment = transport::Segment::create(shape);
    std::vector<Vector> outputs(static_cast<std::size_t>(schedule.ranks), Vector(count, -1));
    for (int rank = 0; rank < schedule.ranks; ++rank) // all live before the first looks around
        segment->hold_life(rank);
    std::vector<std::future<void>> threads;
    for (int rank = 0; rank < schedule.ranks; ++rank)
        threads.push_back(std::async(std::launch::async, [&, rank] {
            transport::Heap heap(segment, rank);
            engine::Engine engine(segment, rank, heap, {}, [](const engine::CallDescriptor &) {
                return std::string("call");
            });
            engine::PlanOptions options;
            options.count = count;
            options.element = 8;
            options.ring_bytes = ring;
            options.slice = kSliceBytes;
            const auto plan = engine::compile(schedule, rank, options);
            Vector input(count);
            for (std::size_t i = 0; i < count; ++i)
                input[i] = contribution(rank, i);
            engine::Tally tally;
            for (int k = 0; k < calls; ++k) {
                before(*segment, rank, k);
                engine::Call call;
                call.plan = plan.get();
                call.reduce = reduce::pass(Dtype::i64, ReduceOp::sum);
                call.input = input.data();
                call.output = outputs[static_cast<std::size_t>(rank)].data();
                call.fingerprint = 1;
                engine.play(call, tally);
            }
        }));
    for (std::future<void> &thread : threads)
        thread.get();
    return outputs;
}

void check_allreduce(const Schedule &schedule, std::size_t count, std::size_t ring = 1 << 16) {
    CAPTURE(schedule.name);
    CAPTURE(count);
    for (const Vector &output : play(schedule, count, 3, ring))
        CHECK(test::wrong_sums(output, schedule.ranks) == 0);
}

} // namespace

TEST_CASE("hand-written schedules give exact answers, whichever rank is late") {
    for (const Position ranks : {2, 3, 4, 7})
        for (const auto &schedule : {test::one_shot(ranks), test::direct(ranks), test::ring(ranks),
                                     test::linear(ranks), test::binomial(ranks)})
            for (const std::size_t count : {std::size_t{1}, std::size_t{1009}, std::size_t{20'000}})
                check_allreduce(schedule, count);
    check_allreduce(test::recursive_doubling(4, false), 777);
    check_allreduce(test::recursive_doubling(8, false), 5000);
}

TEST_CASE("rings of one page are enough for vectors of any length") {
    for (const auto &schedule : {test::direct(5), test::ring(5), test::one_shot(5)})
        check_allreduce(schedule, 9'973, 4096);
}

TEST_CASE("progress wakes a rank that waits for room, but not one that waits for data") {
    std::vector<schedule::Program> programs = test::empty_programs(2);
    programs[0].ops = {schedule::send(1, {0})};
    programs[1].ops = {schedule::recv(0, {0})};
    const Schedule schedule = test::assemble("one way", Contract(Collective::broadcast, 2, 1),
                                             programs, Partition::even(1));
    constexpr std::size_t kCount = 9'973, kRingBytes = 4096; // many rings
    for (const int late : {0, 1}) {
        std::uint32_t watching = 99;
        const auto outputs = play(
            schedule, kCount, 1, kRingBytes, [&](const transport::Segment &segment, int rank, int) {
                const transport::Signals &signals = segment.header().signals;
                if (rank != late)
                    return;
                // If the reader is late, the writer fills the ring and waits for room.  A sleeper
                // looks up now and then, and does not count for that moment.
                do
                    watching = signals.watchers.load();
                while (signals.sleepers.load() == 0 || (late == 1 && watching == 0));
            });
        CHECK(watching == static_cast<std::uint32_t>(late));
        for (std::size_t i = 0; i < kCount; ++i)
            REQUIRE(outputs[1][i] == contribution(0, i));
    }
}

TEST_CASE("partitions need not be even") {
    Schedule weighted = test::direct(3);
    weighted.partition = Partition::weighted({1, 0, 5}); // one block is always empty
    check_allreduce(weighted, 6001);
}

TEST_CASE("windows and after edges are obeyed and change no result") {
    Schedule windowed = test::ring(4);
    const auto original = windowed.program;
    windowed.program = [original](Position position) {
        schedule::Program program = original(position);
        program.open.recv = 1;
        program.open.send = 2;
        program.ops.back().after = {0};
        return program;
    };
    check_allreduce(windowed, 4001);
}

TEST_CASE("an alltoall exchanges blocks under other labels") {
    constexpr Position kRanks = 4;
    constexpr std::size_t kCount = 4 * 3 * 50;
    const Schedule schedule = test::alltoall(kRanks, 3);
    const auto outputs = play(schedule, kCount);
    const std::size_t block = kCount / kRanks;
    for (std::size_t p = 0; p < kRanks; ++p)
        for (std::size_t q = 0; q < kRanks; ++q)
            for (std::size_t i = 0; i < block; ++i)
                REQUIRE(outputs[p][q * block + i] ==
                        contribution(static_cast<int>(q), p * block + i));
}

TEST_CASE("scratch, copies and lanes: a broadcast that takes the long way") {
    std::vector<schedule::Program> programs = test::empty_programs(3);
    using schedule::copy, schedule::recv, schedule::send;
    programs[0].ops = {copy({0, 1}, schedule::kWork, 2), send(1, {1}, 2, 5), send(1, {0}, 2, 4)};
    programs[1].ops = {recv(0, {0}, 1, 4), recv(0, {1}, 1, 5), send(2, {0, 1}, 1),
                       copy({0, 1}, 1, schedule::kWork)};
    programs[2].ops = {recv(1, {0, 1})};
    const Schedule schedule = test::assemble("long way", Contract(Collective::broadcast, 3, 2),
                                             programs, Partition::even(2));
    for (const Vector &output : play(schedule, 3001))
        for (std::size_t i = 0; i < output.size(); ++i)
            REQUIRE(output[i] == contribution(0, i));
}
