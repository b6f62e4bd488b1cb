// SPDX-License-Identifier: BSD-3-Clause
// The engine plays over several hosts what it plays on one: ranks as threads, hosts that share no
// memory, and pipes between them.
#include "doctest.h"

#include <bit>
#include <chrono>
#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "engine/hosts_world.hpp"
#include "support/pipes.hpp"
#include "support/sums.hpp"
#include "support/tier.hpp"
#include "transport/remote/linked_peers.hpp"

using namespace stretto;
using schedule::Collective;
using transport::Placement;
using transport::Segment;

namespace {

using stretto::test::segments;
using stretto::test::Vector;

// Links that are pipes.
struct World : stretto::test::World {
    std::size_t room = 1 << 16; // of a pipe
    stretto::test::Pipes::Reports tells = stretto::test::Pipes::Reports::by_descriptors;
};

std::vector<Vector> play(const World &world, const schedule::Schedule &schedule, std::size_t count,
                         int calls, stretto::test::Pipes &pipes) {
    return stretto::test::play(world, schedule, count, calls,
                               [&](transport::EventSet &events, Segment &, int rank) {
                                   return pipes.links(events, rank, world.room);
                               });
}

void check_allreduce(const World &world, const std::string &algorithm, std::size_t count,
                     int calls = 3) {
    CAPTURE(algorithm);
    CAPTURE(count);
    CAPTURE(world.ranks());
    const schedule::Schedule schedule =
        algorithms::make(algorithms::parse(Collective::allreduce, algorithm), world.ranks(), 0, {});
    stretto::test::Pipes pipes(world.ranks(), world.tells);
    for (const Vector &output : play(world, schedule, count, calls, pipes))
        CHECK(stretto::test::wrong_sums(output, world.ranks()) == 0);
    CHECK((pipes.armed() > 0) == (world.tells == stretto::test::Pipes::Reports::when_armed));
}

// Of vectors that go round small rings: some laps, or with sanitizers a few.
std::size_t count_of_laps() {
    return ::test::sampled() ? 2'503 : 9'973;
}

using Placements = std::vector<std::vector<std::int32_t>>;

Placements placements() {
    if (::test::sampled())
        return {{0, 1}, {0, 0, 1, 1, 2}};
    return {{0, 1},          // one rank on each host
            {0, 1, 2},       //
            {0, 0, 1},       // several
            {0, 1, 0, 1},    // by turns
            {0, 0, 1, 1, 2}, //
            {0, 1, 1, 1, 1}, // all but one
            {2, 1, 0, 0, 1, 2, 0}};
}

} // namespace

TEST_CASE("the algorithms of a collective have different codes") {
    using namespace stretto;
    for (const algorithms::Algorithm &one : algorithms::all())
        for (const algorithms::Algorithm &other : algorithms::all())
            if (one.collective == other.collective && one.name != other.name)
                CHECK_FALSE(engine::same_name(engine::algorithm_code(one.name),
                                              engine::algorithm_code(other.name)));
    const std::uint16_t two = engine::algorithm_code("segmented_ring(segments=2)");
    CHECK(engine::same_name(two, engine::algorithm_code("segmented_ring")));
    CHECK(two != engine::algorithm_code("segmented_ring(segments=4)"));
    CHECK(engine::algorithm_code("") != 0);
}

TEST_CASE("ranks of one process share one mapping, and each has its own mirror") {
    World world;
    world.host_of = {0, 1, 0, 1};
    const std::vector<std::shared_ptr<Segment>> views = segments(world);
    for (std::size_t a = 0; a < views.size(); ++a)
        for (std::size_t b = 0; b < a; ++b) {
            const bool share = world.host_of[a] == world.host_of[b];
            CHECK((&views[a]->header() == &views[b]->header()) == share);
            for (int rank = 0; rank < world.ranks(); ++rank)
                CHECK((views[a]->cells(rank) == views[b]->cells(rank)) ==
                      (share && views[a]->here(rank)));
        }
}

TEST_CASE("every algorithm gives exact answers wherever the ranks are") {
    for (const std::vector<std::int32_t> &placement : placements()) {
        World world;
        world.host_of = placement;
        for (const algorithms::Algorithm &algorithm : algorithms::all())
            if (algorithm.collective == Collective::allreduce && algorithm.runs(world.ranks()))
                for (const std::size_t count :
                     {std::size_t{1}, std::size_t{1009}, std::size_t{20'000}})
                    check_allreduce(world, std::string(algorithm.name), count);
    }
}

TEST_CASE("small rings and links without room slow nothing down for ever") {
    World world;
    world.ring = 4096;
    world.slice = 512;
    world.room = 1;
    for (const std::vector<std::int32_t> &placement : placements()) {
        world.host_of = placement;
        for (const char *algorithm : {"ring", "direct", "one_shot", "chain", "binomial",
                                      "segmented_ring", "late_rooted", "stragglar", "early_direct"})
            check_allreduce(world, algorithm, count_of_laps());
        // Messages that are longer than a ring, and would go as a whole.
        for (const char *algorithm : {"circulant", "bruck", "rabenseifner"})
            check_allreduce(world, algorithm, ::test::sampled() ? 2'999 : 7'993);
    }
}

TEST_CASE("answers are exact whether links report by descriptors, when armed, or only in memory") {
    using Reports = stretto::test::Pipes::Reports;
    for (const Reports tells : {Reports::by_descriptors, Reports::when_armed, Reports::in_memory})
        for (const std::uint64_t delay_ns : {0, 100'000})
            for (const std::vector<std::int32_t> &placement : placements()) {
                CAPTURE(static_cast<int>(tells));
                World world;
                world.host_of = placement;
                world.tells = tells;
                world.delay_ns = delay_ns;
                world.room = 4096;
                for (const char *algorithm : {"ring", "direct", "binomial"})
                    check_allreduce(world, algorithm, count_of_laps());
            }
}

TEST_CASE("bytes that open the windows of connections mean nothing") {
    World world;
    world.host_of = {0, 1, 1, 2};
    world.warm = 40'000;
    const schedule::Schedule schedule =
        algorithms::make(algorithms::parse(Collective::allreduce, "ring"), world.ranks(), 0, {});
    stretto::test::Pipes pipes(world.ranks());
    constexpr int kCalls = 3;
    for (const Vector &output : play(world, schedule, 5003, kCalls, pipes))
        CHECK(stretto::test::wrong_sums(output, world.ranks()) == 0);
    // 10 pairs of ranks on different hosts, three packets each.
    CHECK(pipes.sent(transport::WireMessage::padding) == kCalls * 10 * 3);
}

TEST_CASE("the cells of a short message go as one") {
    engine::PlanOptions options;
    options.element = 8;
    for (int ranks = 2; ranks <= 17; ++ranks)
        for (const std::size_t count : {std::size_t{1009}, std::size_t{8192}, std::size_t{8193}}) {
            CAPTURE(ranks);
            CAPTURE(count);
            const schedule::Schedule schedule = algorithms::make(
                algorithms::parse(Collective::allgather, "circulant"), ranks, 0, {});
            options.count = count;
            const auto plan = engine::compile(schedule, ranks - 1, options);
            std::map<std::uint64_t, std::uint32_t> cells; // by message
            for (const engine::StepReader &reader : plan->readers)
                ++cells[reader.message];
            const std::uint32_t alone = cells[0];
            cells.erase(0);
            REQUIRE(cells.size() == plan->parts.size());
            for (const auto &[message, several] : cells)
                CHECK(plan->parts[message - 1] == several);
            if (count * options.element <= 65536) // a message for each step
                CHECK(alone + cells.size() == std::bit_width(static_cast<unsigned>(ranks - 1)));
            else
                CHECK(cells.empty()); // long ones are worth more on their way early
        }
}

TEST_CASE("a long stream hears of its reader a few times in each lap of its ring") {
    World world;
    world.host_of = {0, 1};
    world.slice = 1 << 10;
    world.room = 1;
    world.delay_ns = 200'000;
    constexpr std::size_t kCount = 200'000;
    const schedule::Schedule schedule =
        algorithms::make(algorithms::parse(Collective::allreduce, "ring"), 2, 0, {});
    stretto::test::Pipes pipes(2);
    const auto start = std::chrono::steady_clock::now();
    for (const Vector &output : play(world, schedule, kCount, 1, pipes))
        CHECK(stretto::test::wrong_sums(output, 2) == 0);
    using transport::WireMessage;
    const std::uint64_t marks = pipes.sent(WireMessage::want),
                        cells = pipes.sent(WireMessage::cell) / 2;
    const std::uint64_t in_an_eighth = world.ring / 8 / world.slice;
    CHECK(marks == 2 * ((cells + in_an_eighth - 1) / in_an_eighth)); // of each rank
    // Asked besides is only what a mark does not tell within 10 ms, which a busy machine may see
    // to.
    const auto patience =
        (std::chrono::steady_clock::now() - start) / std::chrono::milliseconds(10);
    CHECK(pipes.sent(WireMessage::await) <= 2 * static_cast<std::uint64_t>(patience + 2));
    // And in the end each says unasked what it took since.
    CHECK(pipes.sent(WireMessage::progress) <= marks + pipes.sent(WireMessage::await) + 2);
}

TEST_CASE("a rank that is done answers no questions, and no rank waits for it") {
    World world;
    world.meet = true;
    const bool all = !::test::sampled();
    for (const int ranks : all ? std::vector{2, 3, 8, 31} : std::vector{3, 8}) {
        world.host_of.resize(static_cast<std::size_t>(ranks));
        std::iota(world.host_of.begin(), world.host_of.end(), 0);
        for (const std::size_t ring :
             all ? std::vector<std::size_t>{4096, 65536} : std::vector<std::size_t>{4096}) {
            world.ring = ring;
            world.slice = ring / 16;
            for (const char *algorithm : {"generalized(r=1)", "circulant", "ring"})
                check_allreduce(world, algorithm, ring / 16);
        }
    }
}

TEST_CASE("a writer gets one report of taken cells, and another for cells that arrived meanwhile") {
    World world;
    world.host_of = {0, 1};
    const std::vector<std::shared_ptr<Segment>> views = segments(world);
    stretto::test::Pipes pipes(2);
    std::vector<std::unique_ptr<transport::LinkedPeers>> linked_peers;
    for (int rank = 0; rank < 2; ++rank) {
        auto events = std::make_unique<transport::EventSet>();
        auto links = pipes.links(*events, rank);
        linked_peers.push_back(std::make_unique<transport::LinkedPeers>(
            *views[static_cast<std::size_t>(rank)], rank, std::move(events), std::move(links)));
    }
    transport::LinkedPeers &writer = *linked_peers[0], &reader = *linked_peers[1];
    const std::vector<std::byte> payload(256);
    const auto send_cell = [&](std::uint64_t position) {
        writer.send_cell(1, {position, 1, transport::Location::In::cell, payload.data(),
                             payload.size(), 1, false});
        writer.push();
        (void)reader.make_progress(transport::RemotePeers::Caller::awake);
    };
    const auto told = [&](std::uint64_t taken) {
        const std::uint64_t positions[] = {taken, 0};
        const std::uint64_t before = pipes.sent(transport::WireMessage::progress);
        reader.report_taken(positions);
        return pipes.sent(transport::WireMessage::progress) - before;
    };
    CHECK(told(0) == 0);
    send_cell(0);
    CHECK(told(512) == 1);
    CHECK(told(512) == 0);
    send_cell(512);
    send_cell(1024); // of a call that the reader has yet to make
    CHECK(told(1024) == 1);
    CHECK(told(1536) == 1);
    CHECK(told(1536) == 0);
}

TEST_CASE("a writer asks for progress only when the report of a mark is late") {
    World world;
    world.host_of = {0, 1};
    world.ring = 4096;
    const std::vector<std::shared_ptr<Segment>> views = segments(world);
    stretto::test::Pipes pipes(2);
    auto events = std::make_unique<transport::EventSet>();
    auto links = pipes.links(*events, 0);
    transport::LinkedPeers linked_peers(*views[0], 0, std::move(events), std::move(links));
    const std::vector<std::byte> payload(256);
    using transport::WireMessage;
    std::uint64_t progress = 0;
    while (pipes.sent(WireMessage::want) == 0) {
        const std::uint64_t position = progress++ * 512;
        linked_peers.send_cell(1, {position, 1, transport::Location::In::cell, payload.data(),
                                   payload.size(), progress, false, progress == 3});
        linked_peers.push();
    }
    using Need = transport::RemotePeers::Need;
    linked_peers.ask(1, progress, Need::room);
    CHECK(pipes.sent(WireMessage::await) == 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(11));
    for (int again = 0; again < 3; ++again) {
        linked_peers.ask(1, progress, Need::room); // by whatever waits
        CHECK(pipes.sent(WireMessage::await) == 1);
    }
    const auto reached = [&](std::uint64_t value) {
        views[0]->lines(1).progress.store(value, std::memory_order_release);
    };
    reached(progress);
    linked_peers.ask(1, progress + 1, Need::room);
    CHECK(pipes.sent(WireMessage::await) == 2);
    // One question at a time, that for the earlier progress first.
    linked_peers.ask(1, progress + 9, Need::room);
    linked_peers.ask(1, progress + 9, Need::buffer);
    CHECK(pipes.sent(WireMessage::await) == 2);
    reached(progress + 1);
    linked_peers.ask(1, progress + 9, Need::buffer);
    CHECK(pipes.sent(WireMessage::await) == 3);
    linked_peers.ask(1, progress + 5, Need::buffer);
    CHECK(pipes.sent(WireMessage::await) == 4);
}

TEST_CASE("a caller that waits for its buffer waits for no mark") {
    World world;
    world.host_of = {0, 1};
    world.ring = 4096;
    const std::vector<std::shared_ptr<Segment>> views = segments(world);
    stretto::test::Pipes pipes(2);
    auto events = std::make_unique<transport::EventSet>();
    auto links = pipes.links(*events, 0);
    transport::LinkedPeers linked_peers(*views[0], 0, std::move(events), std::move(links));
    const std::vector<std::byte> payload(256);
    linked_peers.send_cell(
        1, {0, 1, transport::Location::In::cell, payload.data(), payload.size(), 3, false, true});
    linked_peers.ask(1, 2, transport::RemotePeers::Need::room);
    CHECK(pipes.sent(transport::WireMessage::await) == 0);
    linked_peers.ask(1, 2, transport::RemotePeers::Need::buffer);
    CHECK(pipes.sent(transport::WireMessage::await) == 1);
}

TEST_CASE("payloads beside their cells arrive as well") {
    World world;
    world.ring = 1 << 20;
    world.slice = 1 << 18;
    for (const std::vector<std::int32_t> &placement : Placements{{0, 1}, {0, 1, 0, 1}}) {
        world.host_of = placement;
        check_allreduce(world, "ring", 200'003);
        check_allreduce(world, "direct", 200'003);
    }
}

TEST_CASE("long payloads are taken in however often the rings go round") {
    World world;
    Placements where{{0, 0, 1, 1, 2}, {0, 1, 2}, {0, 1, 2, 3, 4, 5, 6}};
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes{
        {1u << 17, 1u << 13}, {1u << 18, 40'000u}, {1u << 17, 1u << 14}, {1u << 20, 1u << 17}};
    if (::test::sampled()) {
        where.resize(1);
        sizes.resize(2);
    }
    for (const std::vector<std::int32_t> &placement : where) {
        world.host_of = placement;
        for (const auto &[ring, slice] : sizes) {
            CAPTURE(ring);
            CAPTURE(slice);
            world.ring = ring;
            world.slice = slice;
            for (const char *algorithm : {"ring", "direct", "chain", "pre_reduced_ring",
                                          "late_rooted", "rabenseifner", "circulant"})
                check_allreduce(world, algorithm, 100'003, 4);
        }
    }
}

TEST_CASE(
    "a payload is kept until its place in the ring is written again, and not until half of it") {
    World world;
    world.host_of = {0, 1, 2, 3};
    world.ring = 1 << 20;
    world.slice = 1 << 17; // half a ring holds four
    world.room = 1 << 20;
    check_allreduce(world, "direct", 1 << 20);
}

TEST_CASE("a delayed link changes nothing but the time") {
    World world;
    world.delay_ns = 300'000;
    world.host_of = {0, 1, 1, 2};
    for (const char *algorithm : {"ring", "direct", "recursive_doubling", "rabenseifner"})
        check_allreduce(world, algorithm, 3001);
}

TEST_CASE("a transmit thread that is always at it takes turns with its rank") {
    World world;
    world.leave = {};
    world.ring = 4096;
    world.slice = 512;
    world.room = 1;
    for (const std::vector<std::int32_t> &placement : Placements{{0, 1}, {0, 0, 1, 1, 2}}) {
        world.host_of = placement;
        for (const char *algorithm : {"ring", "direct", "chain"})
            check_allreduce(world, algorithm, count_of_laps(), 6);
    }
}
