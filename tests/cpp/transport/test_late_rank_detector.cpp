// SPDX-License-Identifier: BSD-3-Clause
// Who comes last to a turn: the same answer for all, whatever the order and however close.
#include "doctest.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "support/on_threads.hpp"
#include "transport/shm/late_rank_detector.hpp"

using namespace stretto;
using transport::LateRankDetector;
using transport::Segment;

namespace {

constexpr std::uint64_t kLong = 30'000'000'000; // ns

std::shared_ptr<Segment> segment_of(int ranks) {
    transport::SegmentShape shape;
    shape.ranks = ranks;
    shape.ring_bytes = 1 << 16;
    return Segment::create(shape);
}

// Stands for a call in which all wait for all: nobody leaves before the last has come.
using Call = std::barrier<>;

void sleep_us(unsigned microseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

} // namespace

TEST_CASE("all ranks, also the late one, get the same late rank") {
    for (const int ranks : {2, 3, 5, 8, 13}) {
        CAPTURE(ranks);
        const auto segment = segment_of(ranks);
        std::vector<std::vector<int>> said(static_cast<std::size_t>(ranks));
        std::vector<int> late;
        std::mt19937 random(static_cast<unsigned>(ranks));
        for (int turn = 0; turn < 20; ++turn)
            late.push_back(static_cast<int>(random() % static_cast<unsigned>(ranks)));
        Call call(ranks);
        std::vector<LateRankDetector> detectors;
        for (int rank = 0; rank < ranks; ++rank) {
            segment->hold_life(rank);
            detectors.emplace_back(*segment, rank);
        }
        test::on_threads(ranks, [&](int rank) {
            LateRankDetector &detector = detectors[static_cast<std::size_t>(rank)];
            for (const int who : late) {
                // It comes when it sees that all others have: no clock decides.
                const auto come = [&] {
                    return segment->header().arrival_counter.come.load() & 0xffffffff;
                };
                const auto others = static_cast<std::uint64_t>(ranks - 1);
                while (rank == who && (come() < others ||
                                       segment->header().arrival_counter.decision.load() >> 24 !=
                                           said[static_cast<std::size_t>(rank)].size() + 1))
                    sleep_us(50);
                detector.come(now_ns());
                said[static_cast<std::size_t>(rank)].push_back(
                    detector.latecomer(1000, kLong, [] {}));
                call.arrive_and_wait();
                detector.leave(now_ns(), true);
                CHECK(detector.gap() > 0);
                call.arrive_and_wait(); // all have looked
            }
        });
        for (const std::vector<int> &each : said)
            CHECK(each == late);
    }
}

TEST_CASE("however close they come, all say the same, and learn the same") {
    struct Seen {
        int late;
        std::uint64_t gap, last_took;
        bool operator==(const Seen &) const = default;
    };
    constexpr int kTurns = 3000;
    for (const int ranks : {2, 3, 4, 7}) {
        CAPTURE(ranks);
        const auto segment = segment_of(ranks);
        std::vector<std::vector<Seen>> seen(static_cast<std::size_t>(ranks));
        std::vector<std::atomic<std::uint64_t>> ends(kTurns), lasts(kTurns);
        Call call(ranks);
        for (int rank = 0; rank < ranks; ++rank)
            segment->hold_life(rank);
        test::on_threads(ranks, [&](int rank) {
            LateRankDetector detector(*segment, rank);
            std::mt19937 mine(static_cast<unsigned>(rank)), common(11);
            for (int turn = 0; turn < kTurns; ++turn) {
                if (mine() % 64 == 0)
                    sleep_us(mine() % 300);
                detector.come(now_ns());
                // Now and then nobody waits.
                const int late = common() % 4 == 0
                                     ? LateRankDetector::kNoRank
                                     : detector.latecomer(mine() % 20'000, kLong, [] {});
                call.arrive_and_wait();
                lasts[static_cast<std::size_t>(turn)] =
                    segment->header().arrival_counter.times[(turn + 1) & 1].last.load();
                const std::uint64_t left = now_ns();
                detector.leave(left, turn % 7 != rank);
                seen[static_cast<std::size_t>(rank)].push_back(
                    {late, detector.gap(), detector.last_took()});
                ends[static_cast<std::size_t>(turn)] += left;
            }
        });
        for (const auto &each : seen)
            CHECK(each == seen[0]);
        CHECK(seen[0][0].last_took == 0);
        for (std::size_t turn = 1; turn < kTurns; ++turn) { // it is that of the turn before
            const std::size_t before = turn - 1;
            const auto all = static_cast<std::uint64_t>(ranks);
            const bool known = before % 7 >= all;
            CHECK(seen[0][turn].last_took ==
                  (known ? (ends[before] - all * lasts[before]) / all : 0));
        }
        CHECK(std::ranges::any_of(seen[0], [](const Seen &each) { return each.late >= 0; }));
    }
}

TEST_CASE("a rank that does not come, or has left, does not count as late") {
    const auto segment = segment_of(4);
    for (int rank = 0; rank < 4; ++rank)
        segment->hold_life(rank);
    SUBCASE("patience ends") {
        test::on_threads(2, [&](int rank) {
            LateRankDetector detector(*segment, rank);
            detector.come(now_ns());
            CHECK(detector.latecomer(0, 5'000'000, [] {}) == LateRankDetector::kNoRank);
        });
    }
    SUBCASE("two are missing, of whom one has left") {
        segment->leave(3);
        test::on_threads(2, [&](int rank) {
            LateRankDetector detector(*segment, rank);
            detector.come(now_ns());
            CHECK(detector.latecomer(0, kLong, [] {}) == LateRankDetector::kNoRank);
        });
    }
    SUBCASE("the communicator has failed") {
        segment->fail(Status::peer, "rank 2 has died");
        LateRankDetector detector(*segment, 0);
        detector.come(now_ns());
        CHECK_THROWS_AS(detector.latecomer(0, kLong, [] {}), Error);
    }
}
