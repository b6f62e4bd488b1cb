// SPDX-License-Identifier: BSD-3-Clause
// The memory of a job: ranges for segments, and invitations to them.
#include "doctest.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "support/text.hpp"
#include "transport/shm/job_memory.hpp"
#include "transport/shm/segment.hpp"

using namespace stretto;
using namespace stretto::transport;

namespace {

std::size_t taken(const JobMemory &memory) {
    struct stat status{};
    REQUIRE(fstat(memory.fd(), &status) == 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
}

SegmentShape small(int ranks) {
    SegmentShape shape;
    shape.ranks = ranks;
    shape.ring_bytes = 1 << 16;
    shape.heap_bytes = 1 << 20;
    return shape;
}

} // namespace

TEST_CASE("no two segments have a byte in common") {
    const auto memory = JobMemory::create(4, 1);
    constexpr std::size_t kRounds = 200, kLongBytes = (std::size_t{2} << 20) + 1;
    std::vector<std::vector<std::size_t>> found(4);
    std::vector<std::thread> ranks;
    for (auto &mine : found)
        ranks.emplace_back([&] {
            for (std::size_t round = 0; round < kRounds; ++round)
                mine.push_back(memory->take_range(kLongBytes));
        });
    for (std::thread &rank : ranks)
        rank.join();
    std::set<std::size_t> all;
    for (const auto &mine : found)
        all.insert(mine.begin(), mine.end());
    CHECK(all.size() == 4 * kRounds);
    CHECK(*all.begin() == memory->first_range());
    for (auto at = all.begin(), next = std::next(at); next != all.end(); ++at, ++next)
        CHECK(*next - *at >= kLongBytes);
}

TEST_CASE("a file that cannot be longer has room for so many segments") {
    struct rlimit old{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    struct rlimit limit = old;
    limit.rlim_cur = 64 << 20;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    {
        const auto memory = JobMemory::create(1, 1);
        int segments = 0;
        std::string why;
        try {
            for (;; ++segments)
                (void)memory->take_range(8 << 20);
        } catch (const Error &error) {
            CHECK(error.status() == Status::memory);
            why = error.what();
        }
        CHECK(segments == 7); // the head has the room of one
        CHECK(test::contains(why.c_str(), "ulimit -f"));
    }
    REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
}

TEST_CASE("only ranks that allocate take a heap window, once each") {
    constexpr std::size_t kWindowBytes = std::size_t{1} << 40;
    const auto memory = JobMemory::create(3, 1);
    SegmentShape shape = small(3);
    shape.heap_bytes = kWindowBytes;
    const auto segment = Segment::create_in(memory, shape);
    const std::size_t before = memory->header().next;
    CHECK(before < kWindowBytes);
    segment->take_heap(1);
    segment->take_heap(1);
    CHECK(memory->header().next == before + kWindowBytes);
    CHECK(segment->heap_first(1) == before);
    segment->take_heap(0);
    CHECK(segment->heap_first(0) == before + kWindowBytes);
    CHECK(segment->heap_first(2) == 0);
}

TEST_CASE("an invitation is found by its name until it is withdrawn") {
    const auto memory = JobMemory::create(2, 1);
    CHECK_FALSE(memory->invited(1, 77));
    Invitation *const first = memory->invite(1, 77, 4096), *second = memory->invite(1, 78, 8192);
    REQUIRE((first != nullptr && second != nullptr));
    CHECK(memory->invited(1, 77) == 4096);
    CHECK(memory->invited(1, 78) == 8192);
    CHECK_FALSE(memory->invited(0, 77));
    JobMemory::withdraw(*first);
    CHECK_FALSE(memory->invited(1, 77));
    CHECK(memory->invited(1, 78) == 8192);
    CHECK(memory->invite(1, 79, 12288) == first); // is free again
    JobMemory::withdraw(*second);
}

TEST_CASE("a rank invites to more communicators when others are complete") {
    const auto memory = JobMemory::create(1, 1);
    std::vector<Invitation *> all;
    for (std::uint64_t name = 1; name <= JobRank::kInvitations; ++name)
        all.push_back(memory->invite(0, name, 4096 * name));
    CHECK(memory->invite(0, 1000, 1 << 20) == nullptr);
    CHECK_FALSE(memory->invited(0, 1000));
    JobMemory::withdraw(*all[3]);
    CHECK(memory->invite(0, 1000, 1 << 20) == all[3]);
    CHECK(memory->invited(0, 3) == 3 * 4096);
}

TEST_CASE(
    "a segment that all have left gives back its memory, and one that is incomplete its rings") {
    const auto job = Segment::create(small(2));
    const std::shared_ptr<JobMemory> &memory = job->memory();
    const std::size_t before = taken(*memory);
    std::size_t heads = 0; // of those that were incomplete
    for (const auto &[complete, rings] :
         {std::pair(true, true), std::pair(false, false), std::pair(false, true)}) {
        CAPTURE(complete);
        CAPTURE(rings);
        auto child = Segment::create_in(memory, small(2));
        auto view = Segment::attach_in(memory, child->first_byte(), {});
        CHECK(&view->header() == &child->header()); // one mapping in a process
        const std::size_t first = child->first_byte();
        const std::size_t head = taken(*memory) - heads - before;
        CHECK(head > 0);
        child->hold_life(0);
        child->lines(0).joined = 1;
        if (complete) {
            view->hold_life(1);
            view->lines(1).joined = 1;
        }
        if (rings) {
            view->open_rings(1);
            child->open_rings(0);
            CHECK(taken(*memory) - heads - before == head + 4 * child->ring_bytes());
            child->cells(1)[0] = std::byte{1};
        }
        view->leave(1);
        view.reset();
        CHECK(taken(*memory) > before);
        child->leave(0);
        child.reset();
        CHECK(taken(*memory) - heads - before == (complete ? 0 : head));
        heads += complete ? 0 : head;
        CHECK((Segment::attach_in(memory, first, {}) == nullptr) == complete);
    }
}
