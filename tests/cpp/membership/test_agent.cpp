// SPDX-License-Identifier: BSD-3-Clause
// Agents with threads of their own, on a network of threads.  Nothing here depends on who is quick:
// deadlines are long where nothing must go wrong, and what must come is waited for.
#include "doctest.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "membership/agents.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::membership;
using action::Outcome;
using action::Shrunk;
using test::await;
using test::contains;
using test::Job;
using test::kMillisecond;
using test::kPatient;
using test::rest;

namespace {

// Long enough for a thread to get its turn on a busy machine.
constexpr Heartbeats::Times kSilence{20 * kMillisecond, 1500 * kMillisecond};
// Where it does no harm if it does not.
constexpr Heartbeats::Times kQuick{20 * kMillisecond, 700 * kMillisecond};

RankSet without(int ranks, std::initializer_list<int> gone) {
    RankSet set = RankSet::all(ranks);
    for (const int rank : gone)
        set.erase(rank);
    return set;
}

std::uint64_t ten_and_rank(int rank) {
    return 10 + static_cast<std::uint64_t>(rank);
}

} // namespace

TEST_CASE("a rank that dies is named to all, and the others go on") {
    Job job(6, kPatient);
    const RankSet others = without(6, {4});
    job.wires.kill(4);
    job.await_revoked(others);
    for (const int rank : others) {
        const Reason reason = *job[rank].reason();
        CHECK(reason.status == Status::peer);
        CHECK(reason.culprit == 4);
        CHECK(reason.text == "rank 4 has died (host4): its process has ended");
    }
    job.shrink(others, ten_and_rank);
    for (const int rank : others) {
        CHECK(job.answer(rank) == Shrunk{Outcome::succeeded, {1, others, 10}});
        CHECK(job[rank].view() == job.answer(rank).view);
        CHECK_FALSE(job[rank].revoked());
    }
    // And once more, in the new view.
    const RankSet left = without(6, {0, 4});
    job.wires.kill(0);
    job.await_revoked(left);
    job.shrink(left, ten_and_rank);
    for (const int rank : left)
        CHECK(job.answer(rank) == Shrunk{Outcome::succeeded, {2, left, 11}});
}

TEST_CASE("what a caller finds wrong is told to all before it goes on") {
    std::atomic<int> told{0};
    Job job(4, kPatient, 1, [&](AgentOptions &, Hooks &hooks) {
        hooks.revoked = [&](std::uint32_t epoch, const Reason &reason) {
            CHECK(epoch == 0);
            CHECK(reason.text == "rank 2 is late");
            ++told;
        };
    });
    CHECK_THROWS_AS(job[1].shrink(0, 0), Error); // nothing has failed
    const Reason reason = *job[1].revoke(0, Status::timeout, "rank 2 is late");
    CHECK(reason.origin == 1);
    job.await_revoked(RankSet::all(4));
    await([&] { return told == 4; });
    // The first reason stays.
    CHECK(job[3].revoke(0, Status::timeout, "another") == reason);
    job.shrink(RankSet::all(4), [](int) { return 3; });
    for (int rank = 0; rank < 4; ++rank) // all live, so all go on
        CHECK(job.answer(rank) == Shrunk{Outcome::succeeded, {1, RankSet::all(4), 3}});
    // What failed before that is no failure of the new view.
    CHECK_FALSE(job[2].revoke(0, Status::timeout, "found late"));
    CHECK_FALSE(job[2].revoked());
}

TEST_CASE("a frozen rank is missed; when it thaws, it learns that it is excluded") {
    Job job(4, kSilence);
    const RankSet others = without(4, {1});
    job.wires.freeze(1);
    job.await_revoked(others);
    for (const int rank : others)
        CHECK(contains(job[rank].reason()->text, "rank 1 has sent nothing for 1.5 s (host1)"));
    job.shrink(others, ten_and_rank);
    for (const int rank : others)
        CHECK(job.answer(rank) == Shrunk{Outcome::succeeded, {1, others, 10}});
    CHECK_FALSE(job[1].revoked());
    job.wires.thaw(1);
    await([&] { return job[1].revoked(); });
    job.shrink(without(4, {0, 2, 3}), ten_and_rank);
    CHECK(job.answer(1).outcome == Outcome::excluded);
    CHECK(job.answer(1).view == job.answer(0).view);
    CHECK_FALSE(job[0].revoked());
}

TEST_CASE("the side of a split network that is fewer gives up, also when the network joins again") {
    Job job(5, kSilence);
    for (const int a : {0, 2, 4})
        for (const int b : {1, 3})
            job.wires.cut(a, b);
    job.await_revoked(RankSet::all(5));
    job.shrink(RankSet::all(5), ten_and_rank);
    const RankSet more = without(5, {1, 3});
    for (const int rank : more)
        CHECK(job.answer(rank) == Shrunk{Outcome::succeeded, {1, more, 10}});
    for (const int rank : {1, 3})
        CHECK(job.answer(rank).outcome == Outcome::no_majority);
    for (const int a : {0, 2, 4})
        for (const int b : {1, 3})
            job.wires.restore(a, b);
    rest(50);
    for (const int rank : more)
        CHECK_FALSE(job[rank].revoked());
    job.shrink(without(5, {0, 2, 4}), ten_and_rank);
    CHECK(job.answer(1).outcome == Outcome::no_majority);
}

TEST_CASE("who lives but does not call shrink is left behind") {
    Job job(3, kPatient);
    job.patience = 1500 * kMillisecond;
    job[0].revoke(0, Status::timeout, "too late");
    job.await_revoked(RankSet::all(3));
    job.shrink(without(3, {0}), ten_and_rank); // the lowest, who would lead, does not come
    for (const int rank : {1, 2})
        CHECK(job.answer(rank) == Shrunk{Outcome::succeeded, {1, without(3, {0}), 11}});
    job.shrink(without(3, {1, 2}), ten_and_rank);
    CHECK(job.answer(0).outcome == Outcome::excluded);
}

TEST_CASE("a link that loses what it carries and comes back is no failure") {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        Job job(4, kPatient, seed);
        job[2].revoke(0, Status::timeout, "late");
        job.await_revoked(RankSet::all(4));
        job.shrink(RankSet::all(4), ten_and_rank, [&] {
            job.wires.cut(0, static_cast<int>(1 + seed % 3));
            job.wires.restore(0, static_cast<int>(1 + seed % 3));
        });
        for (int rank = 0; rank < 4; ++rank)
            CHECK(job.answer(rank) == Shrunk{Outcome::succeeded, {1, RankSet::all(4), 10}});
    }
}

TEST_CASE("where are you? says what each does, except who cannot answer") {
    Job job(4, kPatient, 1, [](AgentOptions &options, Hooks &hooks) {
        hooks.wait_report = [rank = options.rank] {
            return WaitReport{7, static_cast<std::uint64_t>(rank), 9, 3, "allreduce"};
        };
    });
    job.wires.freeze(3);
    const auto answers = job[0].where(RankSet::all(4), 1500 * kMillisecond);
    REQUIRE(answers.size() == 4);
    CHECK_FALSE(answers[3]);
    for (const int rank : {0, 1, 2})
        CHECK(answers[static_cast<std::size_t>(rank)] ==
              WaitReport{7, static_cast<std::uint64_t>(rank), 9, 3, "allreduce"});
    CHECK_THROWS_AS(job[0].where(RankSet::all(5), kMillisecond), Error);
}

TEST_CASE("clocks that are apart: all come to hold one table") {
    constexpr std::uint64_t kApart = 3'600'000'000'000;
    Job job(4, kPatient, 1, [](AgentOptions &options, Hooks &) {
        // Rank 3's clock is three hours ahead of rank 0's.
        options.clock = [ahead = kApart * static_cast<std::uint64_t>(options.rank)] {
            return now_ns() + ahead;
        };
    });
    for (int rank = 0; rank < 4; ++rank)
        await([&] { return job[rank].clocks().has_value(); });
    const Offsets table = *job[3].clocks();
    CHECK(table.reference == 0);
    for (int rank = 0; rank < 4; ++rank) {
        const std::int64_t wrong = table.of_rank[static_cast<std::size_t>(rank)] +
                                   static_cast<std::int64_t>(kApart) * rank;
        // Half of the time on the way, whatever the machine was doing then.
        CHECK(std::abs(wrong) < 10'000 * static_cast<std::int64_t>(kMillisecond));
    }
}

TEST_CASE("ranks that end in good order are not missed, until they are needed") {
    Job job(3, kPatient);
    job.agents[2].reset();
    rest(50);
    CHECK_FALSE(job[0].revoked());
    CHECK_FALSE(job[1].revoked());
    job[1].revoke(0, Status::peer, "rank 2 has left");
    job.await_revoked(without(3, {2}));
    job.shrink(without(3, {2}), ten_and_rank);
    for (const int rank : {0, 1})
        CHECK(job.answer(rank) == Shrunk{Outcome::succeeded, {1, without(3, {2}), 10}});
}

TEST_CASE("a rank that sends an invalid message is suspected") {
    Job job(3, kPatient);
    job.wires.inject(2, 0, std::vector<std::byte>(5, std::byte{0xee}));
    job.await_revoked(without(3, {2}));
    CHECK(contains(job[1].reason()->text, "rank 2 has sent an invalid message (host2): "));
    job.shrink(without(3, {2}), ten_and_rank);
    CHECK(job.answer(0).view.members == without(3, {2}));
}

TEST_CASE("an agent whose thread cannot go on fails its callers, who do not wait for it") {
    Job job(2, kPatient, 1, [](AgentOptions &options, Hooks &hooks) {
        if (options.rank == 0)
            hooks.choose = [](std::uint64_t, int, const std::string &) -> std::string {
                throw std::bad_alloc();
            };
    });
    CHECK_THROWS_AS(job[0].decide(1, 0, "x"), Error);
    CHECK(job[0].revoked());
    CHECK(contains(job[0].reason()->text, "rank 0 has lost its control agent"));
    CHECK(job[0].shrink(0, 0).outcome == Outcome::no_majority);
    job.wires.kill(0);
    job.await_revoked(without(2, {0}));
}

TEST_CASE(
    "a coordinator chooses unasked when it is time, once, and what it says is there for all") {
    std::atomic<int> chosen{0};
    Job job(3, kPatient, 1, [&](AgentOptions &options, Hooks &hooks) {
        if (options.rank == 1)
            hooks.choose = [&](std::uint64_t key, int, const std::string &) {
                ++chosen;
                return "of " + std::to_string(key);
            };
    });
    constexpr std::uint64_t kHour = 3'600'000'000'000;
    job[1].decide_at(7, now_ns() + kHour);
    job[1].decide_at(8, now_ns() + kHour);
    rest(20);
    CHECK(chosen == 0);
    // Who asks need not wait for that.
    CHECK(job[2].decide(7, 1, "") == "of 7");
    CHECK(chosen == 1);
    job[1].decide_at(8, now_ns()); // the last word counts
    await([&] { return chosen == 2; });
    for (const int rank : {0, 1, 2})
        CHECK(job[rank].decide(8, 1, "") == "of 8");
    job[1].decide_at(8, now_ns()); // it is decided
    job[1].decide_at(9, now_ns() + kHour);
    job[1].forget_decisions(9, 10);
    CHECK(job[0].decide(9, 1, "") == "of 9");
    CHECK(chosen == 3);
}

TEST_CASE("an agent comes round when it was asked to") {
    constexpr std::uint64_t kHour = 3'600'000'000'000;
    std::atomic<std::uint64_t> last{0};
    Job job(1, {kHour, 2 * kHour}, 1,
            [&](AgentOptions &, Hooks &hooks) { hooks.round = [&] { last = now_ns(); }; });
    const std::uint64_t now = now_ns(), soon = now + 5 * kMillisecond, later = soon + kMillisecond;
    job[0].come_round(now + kHour);
    job[0].come_round(later);
    job[0].come_round(soon);
    await([&] { return last >= later; });
    job[0].come_round(now); // it is past
    const std::uint64_t again = now_ns();
    job[0].come_round(again);
    await([&] { return last >= again; });
}

TEST_CASE("a coordinator that cannot answer yet is asked again, by the next or when it is time") {
    std::atomic<int> asked{0};
    std::atomic<bool> timely{false};
    constexpr std::uint64_t kHour = 3'600'000'000'000;
    Job job(4, kPatient, 1, [&](AgentOptions &options, Hooks &hooks) {
        if (options.rank == 1)
            hooks.choose = [&](std::uint64_t key, int from, const std::string &) {
                ++asked;
                if (key == 7 && from != 3)
                    return Answer::not_before(now_ns() + kHour);
                if (key == 8 && from != kNoRank)
                    return Answer::not_before(now_ns() + 20 * test::kMillisecond);
                timely = key != 8 || asked == 2;
                return Answer("asked by " + std::to_string(from));
            };
    });
    const auto all = [&](std::uint64_t key, RankSet who) {
        std::vector<std::string> values(4);
        std::vector<std::thread> threads;
        for (const int rank : who)
            threads.emplace_back([&, rank] {
                std::atomic<int> meanwhile{0};
                values[static_cast<std::size_t>(rank)] =
                    job[rank].decide(key, 1, "", [&] { ++meanwhile; });
                if (key == 8)
                    CHECK(meanwhile > 0);
            });
        if (key == 7) { // the coordinator and the others wait for the one who knows
            await([&] { return asked == 3; });
            values[3] = job[3].decide(key, 1, "");
        }
        for (std::thread &thread : threads)
            thread.join();
        return values;
    };
    for (const std::string &value : all(7, without(4, {3})))
        CHECK(value == "asked by 3");
    asked = 0;
    RankSet two(4);
    two.insert(2);
    CHECK(all(8, two)[2] == "asked by -1");
    CHECK(timely);
    CHECK(job[1].decide(8, 1, "") == "asked by -1"); // it is there
}

TEST_CASE("whatever happens, whoever lives gets an answer, and nobody another view") {
    const unsigned jobs = test::full_tier() ? 200 : 12;
    for (unsigned seed = 1; seed <= jobs; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const int ranks = 3 + static_cast<int>(random() % 6);
        Job job(ranks, kQuick, seed);
        RankSet callers = RankSet::all(ranks);
        const auto anybody = [&] {
            return static_cast<int>(random() % static_cast<unsigned>(ranks));
        };
        const auto something = [&] {
            const int rank = anybody();
            switch (random() % 3) {
            case 0: job.wires.kill(rank); break;
            case 1: job.wires.freeze(rank); break;
            case 2:
                for (int other = 0; other < ranks; ++other)
                    if (other != rank)
                        job.wires.cut(rank, other);
                break;
            }
            return rank;
        };
        const int first = something();
        callers.erase(first);
        job.await_revoked(callers);
        // A second failure during shrink.
        job.shrink(callers, ten_and_rank, [&] {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
            job.wires.thaw(something());
        });
        std::vector<Shrunk> succeeded;
        for (const int rank : callers) {
            const Shrunk &each = job.answer(rank);
            if (each.outcome != Outcome::succeeded)
                continue;
            CHECK(each.view.epoch == 1);
            CHECK(is_quorum(each.view.members, RankSet::all(ranks)));
            CHECK(each.view.members.has(rank));
            CHECK(each.view.completed == ten_and_rank(each.view.members.lowest()));
            succeeded.push_back(each);
        }
        for (const Shrunk &each : succeeded)
            CHECK(each == succeeded[0]);
    }
}
