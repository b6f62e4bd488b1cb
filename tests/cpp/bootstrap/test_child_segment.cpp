// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a host come to share memory for a communicator that is made of another.
#include "doctest.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "bootstrap/local/child_segment.hpp"
#include "support/on_threads.hpp"
#include "support/text.hpp"
#include "transport/shm/peer_memory.hpp"

using namespace stretto;
using namespace stretto::bootstrap;
using test::contains;
using transport::Segment;

namespace {

constexpr int kRanks = 4;

// A job of this process, whose ranks may use one processor each; two of them share a cache.
std::shared_ptr<Segment> job() {
    transport::SegmentShape shape;
    shape.ranks = kRanks;
    shape.cores = kRanks;
    shape.ring_bytes = 1 << 16;
    shape.heap_bytes = 1 << 20;
    auto segment = Segment::create(shape);
    segment->memory()->header().quota = 3;
    segment->memory()->header().fences = 1;
    for (int rank = 0; rank < kRanks; ++rank) {
        segment->memory()->rank(rank).cores.add(static_cast<std::size_t>(10 + rank));
        segment->lines(rank).cache = 1 + rank / 2;
        segment->lines(rank).attach = static_cast<std::uint32_t>(
            rank == 0 ? transport::Attach::refused : transport::Attach::works);
        segment->hold_life(rank);
    }
    return segment;
}

struct Outcome {
    std::shared_ptr<Segment> segment;
    std::optional<Error> error;
};

// `rank` of the parent makes the child of these ranks with the others.
Outcome join_as(
    const std::shared_ptr<Segment> &parent, std::vector<int> ranks, int rank,
    const std::string &place, std::uint64_t limit_ns = 60'000'000'000,
    const std::function<void()> &watch = [] {}) {
    Config config;
    config.shape.ring_bytes =
        1 << 20; // the rings of a child are no longer than those of its parent
    config.shape.heap_bytes = 1 << 20;
    Identity me;
    me.rank = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
    me.size = static_cast<int>(ranks.size());
    me.called = "'" + place + "'";
    me.launcher = "a test";
    ParentContext context;
    context.place = place;
    context.segment = parent;
    context.in_parent = context.in_job = ranks;
    context.watch = watch;
    Patience patience(&context, limit_ns);
    Outcome outcome;
    try {
        ChildSegment child({config, me, context, patience});
        outcome.segment = child.segment();
        child.enter();
    } catch (const Error &error) {
        outcome.error = error;
    }
    return outcome;
}

} // namespace

TEST_CASE("a child has what is known of its ranks from the job") {
    const auto parent = job();
    const std::vector<int> ranks = {3, 0, 2};
    std::vector<Outcome> outcomes(kRanks);
    test::on_threads(kRanks, [&](int rank) {
        if (rank != 1)
            outcomes[static_cast<std::size_t>(rank)] = join_as(parent, ranks, rank, "some");
    });
    for (const int rank : ranks) {
        const Outcome &outcome = outcomes[static_cast<std::size_t>(rank)];
        REQUIRE_FALSE(outcome.error);
        CHECK(&outcome.segment->header() == &outcomes[0].segment->header());
    }
    Segment &child = *outcomes[0].segment;
    CHECK(child.ranks() == 3);
    CHECK(child.header().cores == 3);
    CHECK(child.ring_bytes() == parent->ring_bytes());
    CHECK(child.header().signals.fences == 1);
    CHECK(child.header().key != parent->header().key);
    CHECK(transport::attach_on_host(child) == transport::Attach::refused);
    for (int rank = 0; rank < 3; ++rank) {
        const int known = ranks[static_cast<std::size_t>(rank)];
        CHECK(child.lines(rank).cache == parent->lines(known).cache);
        CHECK(child.lines(rank).attach == parent->lines(known).attach);
        CHECK(child.process(rank) == getpid());
        CHECK(child.presence(rank) == transport::Presence::here);
    }
}

TEST_CASE("cores are those of the ranks of the child, and no more than the quota") {
    const auto parent = job();
    CHECK(join_as(parent, {2}, 2, "alone").segment->header().cores == 1);
    parent->memory()->header().quota = 2;
    test::on_threads(kRanks, [&](int rank) {
        const Outcome outcome = join_as(parent, {0, 1, 2, 3}, rank, "all");
        CHECK(outcome.segment->header().cores == 2);
    });
}

TEST_CASE("children of one name are not taken for one another") {
    const auto parent = job();
    std::atomic<int> wrong{0};
    test::on_threads(2, [&](int rank) {
        std::shared_ptr<Segment> last;
        for (int round = 0; round < 500; ++round) {
            const Outcome outcome = join_as(parent, {0, 1}, rank, "again");
            wrong += outcome.error || outcome.segment == nullptr ||
                             (last != nullptr && &last->header() == &outcome.segment->header())
                         ? 1
                         : 0;
            last = round % 3 == 0 ? outcome.segment : nullptr; // so some outlive the next
            if (round % 16 == 5 * rank)
                usleep(200);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("the creator names the ranks that do not come, and the others hear it") {
    const auto parent = job();
    std::vector<Outcome> outcomes(kRanks);
    test::on_threads(3, [&](int rank) {
        outcomes[static_cast<std::size_t>(rank)] =
            join_as(parent, {1, 0, 2, 3}, rank, "early", 300'000'000);
    });
    for (int rank = 0; rank < 3; ++rank) {
        const Outcome &outcome = outcomes[static_cast<std::size_t>(rank)];
        REQUIRE(outcome.error);
        CHECK(outcome.error->status() == Status::timeout);
        CHECK(contains(outcome.error->what(), "nothing was heard of rank(s) 3 of 'early'"));
        CHECK(contains(outcome.error->what(), "must call a test"));
    }
    // The rank that comes now is not taken in.
    const Outcome late = join_as(parent, {1, 0, 2, 3}, 3, "early", 100'000'000);
    REQUIRE(late.error);
    CHECK(contains(late.error->what(), "nothing was heard of rank(s) 0 of 'early'"));
}

TEST_CASE("what the parent's watch finds ends the wait of all") {
    const auto parent = job();
    for (const int missing : {0, 2}) { // the creator, and another
        CAPTURE(missing);
        test::on_threads(3, [&](int rank) {
            if (rank == missing)
                return;
            const Outcome outcome =
                join_as(parent, {0, 1, 2}, rank, "watched " + std::to_string(missing),
                        60'000'000'000, [] { throw Error(Status::peer, "somebody has died"); });
            REQUIRE(outcome.error);
            CHECK(outcome.error->status() == Status::peer);
            CHECK(contains(outcome.error->what(), "somebody has died"));
        });
    }
}

TEST_CASE("a creator that has no memory fails the parent") {
    const auto parent = job();
    parent->memory()->header().next = UINT64_MAX / 4; // no range is left
    const Outcome outcome = join_as(parent, {1, 2}, 1, "too many");
    REQUIRE(outcome.error);
    CHECK(outcome.error->status() == Status::memory);
    CHECK(parent->failed());
    CHECK(contains(parent->failure().what(), "more are not there"));
}

TEST_CASE("a creator that has no memory to shrink says that, and not what failed before") {
    const auto parent = job();
    parent->fail(Status::peer, "rank 3 has died");
    parent->memory()->header().next = UINT64_MAX / 4;
    const Outcome outcome = join_as(parent, {1, 2}, 1, "too many");
    REQUIRE(outcome.error);
    CHECK(outcome.error->status() == Status::memory);
    CHECK(contains(outcome.error->what(), "more are not there"));
    CHECK(contains(parent->failure().what(), "rank 3 has died"));
}

TEST_CASE("threads that make too many communicators in another order than other ranks") {
    const auto parent = job();
    std::vector<transport::Invitation *> others;
    for (std::uint64_t name = 1; name <= transport::JobRank::kInvitations; ++name)
        others.push_back(parent->memory()->invite(1, name, 4096 * name));
    const Outcome outcome = join_as(parent, {1, 2}, 1, "one more", 50'000'000);
    REQUIRE(outcome.error);
    CHECK(outcome.error->status() == Status::timeout);
    CHECK(contains(outcome.error->what(), "in the order of the other ranks"));
    CHECK_FALSE(parent->failed());
    const Outcome ended = join_as(parent, {1, 2}, 1, "one more", 60'000'000'000,
                                  [] { throw Error(Status::peer, "died"); });
    REQUIRE(ended.error);
    CHECK(ended.error->status() == Status::peer);
    CHECK_FALSE(parent->failed());
}
