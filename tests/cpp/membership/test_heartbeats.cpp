// SPDX-License-Identifier: BSD-3-Clause
// Heartbeats in a world where time is a number.
#include "doctest.h"

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "membership/heartbeats.hpp"

using namespace stretto::membership;

namespace {

constexpr Heartbeats::Times kTimes{100, 1000};

RankSet without(int ranks, std::initializer_list<int> gone) {
    RankSet set = RankSet::all(ranks);
    for (const int rank : gone)
        set.erase(rank);
    return set;
}

int logarithm(int ranks) { // rounded up
    return std::bit_width(static_cast<unsigned>(ranks - 1));
}

} // namespace

TEST_CASE("each watches its successors 1, 2, 4, ... places further on") {
    CHECK(to_text(Heartbeats::successors(0, RankSet::all(8))) == "1, 2, 4");
    CHECK(to_text(Heartbeats::successors(6, RankSet::all(8))) == "0, 2, 7");
    CHECK(to_text(Heartbeats::successors(3, RankSet::all(5))) == "0, 2, 4");
    CHECK(to_text(Heartbeats::successors(6, without(8, {7, 0}))) == "1, 2, 4");
    CHECK(Heartbeats::successors(0, RankSet::all(1)).empty());
    CHECK(Heartbeats::successors(0, RankSet(4)).empty());
}

TEST_CASE("everybody is watched by as many as it watches") {
    for (int ranks = 1; ranks <= 70; ++ranks) {
        CAPTURE(ranks);
        RankSet members(100); // with gaps
        for (int i = 0; i < ranks; ++i)
            members.insert(i + i / 3);
        std::vector<int> watchers(100);
        for (const int rank : members) {
            const RankSet watched = Heartbeats::successors(rank, members);
            CHECK(watched.count() == logarithm(ranks));
            CHECK_FALSE(watched.has(rank));
            for (const int each : watched)
                ++watchers[static_cast<std::size_t>(each)];
        }
        for (const int rank : members)
            CHECK(watchers[static_cast<std::size_t>(rank)] == logarithm(ranks));
    }
}

TEST_CASE("silence is reported once, at the deadline") {
    Heartbeats heartbeats(0, RankSet::all(3), kTimes, 0);
    CHECK(to_text(heartbeats.tick(0).pings) == "1, 2");
    for (std::uint64_t now = 100; now < 1000; now += 100) {
        heartbeats.received(1, now);
        CHECK(heartbeats.tick(now).silent.empty());
    }
    CHECK(to_text(heartbeats.tick(1000).silent) == "2");
    CHECK(heartbeats.tick(1100).silent.empty());
    // Who is watched from now on has a deadline of its own.
    heartbeats.set_members(without(3, {2}), 1150);
    CHECK(to_text(heartbeats.watched()) == "1");
}

TEST_CASE("watchers move on to the next that is left") {
    Heartbeats heartbeats(0, RankSet::all(5), kTimes, 0);
    CHECK(to_text(heartbeats.watched()) == "1, 2, 4");
    heartbeats.tick(500);
    heartbeats.set_members(without(5, {1}), 500);
    CHECK(to_text(heartbeats.watched()) == "2, 3");
    CHECK(heartbeats.next_tick() <= 500); // the new one is asked at once
    heartbeats.also_watch(without(5, {0, 1}), 500);
    CHECK(to_text(heartbeats.watched()) == "2-4");
}

TEST_CASE("who was stopped itself accuses nobody") {
    Heartbeats heartbeats(0, RankSet::all(2), kTimes, 0);
    for (std::uint64_t now = 0; now <= 500; now += 100) {
        heartbeats.received(1, now);
        heartbeats.tick(now);
    }
    // Frozen for long; the other may have been frozen with it.
    CHECK(heartbeats.tick(1'000'000).silent.empty());
    for (std::uint64_t now = 1'000'100; now < 1'001'000; now += 100)
        CHECK(heartbeats.tick(now).silent.empty());
    CHECK(to_text(heartbeats.tick(1'001'000).silent) == "1");
}

TEST_CASE("in a job that works nobody is accused; who dies is, within a deadline and an interval") {
    std::mt19937 random(3);
    for (int round = 0; round < 30; ++round) {
        const int ranks = 2 + static_cast<int>(random() % 20);
        const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
        RankSet left = RankSet::all(ranks);
        std::vector<Heartbeats> all;
        for (int rank = 0; rank < ranks; ++rank)
            all.emplace_back(rank, left, kTimes, 0);
        struct Sign { // of life, on its way
            std::uint64_t when;
            int from, to;
        };
        std::vector<Sign> signs;
        RankSet alive = left;
        std::uint64_t died = 0;
        int accused = 0;
        for (std::uint64_t now = 0; now < 20'000; now += 10) {
            if (now % 5000 == 2500 && alive.count() > 1) {
                int victim = static_cast<int>(random() % static_cast<unsigned>(ranks));
                while (!alive.has(victim))
                    victim = (victim + 1) % ranks;
                alive.erase(victim);
                died = now;
            }
            std::erase_if(signs, [&](const Sign &sign) {
                if (sign.when <= now)
                    all[at(sign.to)].received(sign.from, now);
                return sign.when <= now;
            });
            for (const int rank : alive) {
                const Heartbeats::Due due = all[at(rank)].tick(now);
                for (const int each : due.pings)
                    if (alive.has(each)) // the way there and back
                        signs.push_back({now + random() % 700, each, rank});
                for (const int each : due.silent) {
                    CHECK_FALSE(alive.has(each));
                    CHECK(now - died <= kTimes.deadline + 700 + 10);
                    ++accused;
                    left.erase(each);
                }
            }
            for (const int rank : alive)
                all[at(rank)].set_members(left, now);
        }
        CHECK(accused > 0);
        CHECK(left == alive);
    }
}
