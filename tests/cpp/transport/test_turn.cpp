// SPDX-License-Identifier: BSD-3-Clause
// Ranks that take turns: as many at a time as there are cores.
#include "doctest.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "transport/shm/turn.hpp"

using namespace stretto::transport;

namespace {

std::shared_ptr<Segment> segment(int ranks, unsigned cores) {
    SegmentShape shape;
    shape.ranks = ranks;
    shape.cores = cores;
    shape.ring_bytes = 1 << 16;
    shape.heap_bytes = 1 << 20;
    return Segment::create(shape);
}

} // namespace

TEST_CASE("with one core one rank has the turn") {
    const auto shared = segment(8, 1);
    std::atomic<int> inside{0}, most{0}, done{0};
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 8; ++rank)
        threads.emplace_back([&, rank] {
            for (int again = 0; again < 5; ++again) {
                const Turn turn(*shared, rank);
                const int now = ++inside;
                if (now > most.load())
                    most = now;
                std::this_thread::sleep_for(std::chrono::microseconds(200));
                --inside;
                ++done;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(done == 40);
    CHECK(most == 1);
}

TEST_CASE("with two cores two ranks have it") {
    const auto shared = segment(4, 2);
    const Turn first(*shared, 0), second(*shared, 3);
    shared->hold_life(1); // is another lock
    CHECK(shared->presence(1) == Presence::here);
}

TEST_CASE("a rank that waits for a turn gets a failure") {
    const auto shared = segment(2, 1);
    std::optional<Turn> first(std::in_place, *shared, 0);
    shared->fail(stretto::Status::peer, "rank 7 has died");
    CHECK_THROWS_WITH(Turn(*shared, 1), "rank 7 has died");
    first.reset();
    const Turn again(*shared, 1); // nobody has it
}
