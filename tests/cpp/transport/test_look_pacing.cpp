// SPDX-License-Identifier: BSD-3-Clause
// Ranks that wait leave the cores to the rank that they wait for.
#include "doctest.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "transport/shm/segment.hpp"
#include "transport/wait/look_pacing.hpp"
#include "transport/wait/wait_policy.hpp"

using namespace stretto::transport;

namespace {

// Its looks take a millisecond of processor time.
struct Expensive final : Waitable {
    static constexpr std::uint64_t kLookNs = 1'000'000;
    static constexpr std::size_t kLooks = 4;

    bool attempt() override { return looked_at.size() == kLooks; }
    void diagnose(std::uint64_t waited_ns) override {
        for (const std::uint64_t begin = stretto::thread_processor_ns();
             stretto::thread_processor_ns() - begin < kLookNs;) {
        }
        looked_at.push_back(waited_ns);
    }

    std::vector<std::uint64_t> looked_at;
};

std::shared_ptr<Segment> segment(int ranks, unsigned cores, Placement placement = {}) {
    SegmentShape shape;
    shape.placement = std::move(placement);
    shape.ranks = ranks;
    shape.cores = cores;
    shape.ring_bytes = 1 << 12;
    shape.heap_bytes = 1 << 20;
    return Segment::create(shape);
}

} // namespace

TEST_CASE("a rest is long enough for the ranks of a core, and not too long") {
    LookPacing pacing;
    CHECK(pacing.rest_ns() == 0);
    pacing.record(10'000, 1);
    CHECK(pacing.rest_ns() == 160'000);
    pacing.record(300'000, 16);
    CHECK(pacing.rest_ns() == 76'800'000);
    pacing.record(300'000, 100);
    CHECK(pacing.rest_ns() == LookPacing::kMostRestNs);
    pacing.record(10'000, 1);
    CHECK(pacing.rest_ns() == 160'000);
}

TEST_CASE("ranks for each core are rounded up") {
    CHECK(segment(1, 2)->ranks_per_core() == 1);
    CHECK(segment(5, 2)->ranks_per_core() == 3);
    CHECK(segment(8, 0)->ranks_per_core() == 8);
    CHECK(segment(5, 2)->cores_here() == 2);
    CHECK(segment(8, 0)->cores_here() == 1);
}

TEST_CASE("the ranks of a host share its cores, not those of all hosts") {
    // Four cores for six ranks: a host of three has two.
    const auto shared = segment(6, 4, Placement({0, 1, 0, 1, 0, 1}, 0));
    CHECK(shared->ranks_per_core() == 2);
    CHECK(shared->cores_here() == 2);
    const auto uneven = segment(6, 3, Placement({0, 1, 1, 1, 1, 1}, 0));
    CHECK(uneven->ranks_per_core() == 2);
    CHECK(uneven->cores_here() == 1);
}

TEST_CASE("where many ranks wait on a core, each looks for what is wrong less often") {
    const auto shared = segment(8, 1);
    Expensive waiting;
    wait(*shared, 0, waiting, {});
    REQUIRE(waiting.looked_at.size() == Expensive::kLooks);
    CHECK(waiting.looked_at[0] >= kSuspiciousNs);
    for (std::size_t i = 1; i < waiting.looked_at.size(); ++i)
        CHECK(waiting.looked_at[i] - waiting.looked_at[i - 1] >= 16 * 8 * Expensive::kLookNs);
    // The next wait knows what a look takes.
    Expensive next;
    wait(*shared, 0, next, {});
    CHECK(next.looked_at[0] >= 16 * 8 * Expensive::kLookNs);
}
