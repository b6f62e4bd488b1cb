// SPDX-License-Identifier: BSD-3-Clause
// Choices that a coordinator's agent makes for all, on a network that delays every message at will.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "arrival/latecomers.hpp"
#include "base/clock.hpp"
#include "membership/agents.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::membership;
using test::contains;
using test::Job;
using test::kPatient;

TEST_CASE("a choice is the same for all, and the coordinator may have a mind of its own") {
    Job job(5, kPatient, 1, [](AgentOptions &options, Hooks &hooks) {
        if (options.rank == 2)
            hooks.choose = [](std::uint64_t key, int, const std::string &value) {
                return key == 8 ? "the coordinator's" : value;
            };
    });
    for (const std::uint64_t key : {7, 8}) {
        std::vector<std::string> values(5);
        std::vector<std::thread> threads;
        for (int rank = 0; rank < 5; ++rank)
            threads.emplace_back([&, rank] {
                values[static_cast<std::size_t>(rank)] =
                    job[rank].decide(key, 2, "of rank " + std::to_string(rank));
            });
        for (std::thread &thread : threads)
            thread.join();
        for (const std::string &value : values)
            CHECK(value == values[0]);
        CHECK(contains(values[0], key == 8 ? "the coordinator's" : "of rank "));
        CHECK(job[3].decide(key, 2, "again") == values[0]);
    }
    job[3].forget_decisions(0, 9);
    CHECK_THROWS_AS(job[0].decide(9, 5, ""), Error); // there is no rank 5
    CHECK_THROWS_AS(job[0].decide(9, 2, std::string(kMostDecisionBytes + 1, 'x')), Error);
    // A coordinator that dies does not answer any more.
    job.wires.freeze(2);
    std::thread asks([&] {
        try {
            job[0].decide(10, 2, "x");
            FAIL_CHECK("decided by the dead");
        } catch (const Error &error) {
            CHECK(error.status() == Status::revoked);
            CHECK(contains(error.what(), "(host2)"));
        }
    });
    job.wires.kill(2);
    asks.join();
}

TEST_CASE(
    "what members tell the coordinator beforehand reaches it, or comes too late for all alike") {
    // The coordinator decides what it was told: the sum, and how many told it.  It is told by the
    // members, who then ask when they like.
    const int ranks = 4, keys = test::full_tier() ? 25'000 : 300;
    std::vector<std::map<std::uint64_t, std::map<int, std::int64_t>>> told(ranks);
    Job job(ranks, kPatient, 3, [&](AgentOptions &options, Hooks &hooks) {
        auto &here = told[static_cast<std::size_t>(options.rank)];
        hooks.noticed = [&](int from, std::uint64_t key, std::int64_t value) {
            here[key][from] = value;
        };
        hooks.choose = [&](std::uint64_t key, int, const std::string &) {
            std::string text;
            for (const auto &[from, value] : here[key])
                text += std::to_string(from) + "=" + std::to_string(value) + " ";
            here.erase(key);
            return text;
        };
    });
    std::vector<std::vector<std::string>> values(ranks);
    std::vector<std::thread> members;
    constexpr int kTogether = 16;
    std::barrier together(ranks);
    for (int rank = 0; rank < ranks; ++rank)
        members.emplace_back([&, rank] {
            std::mt19937 random(static_cast<unsigned>(rank));
            for (int key = 0; key < keys; ++key) {
                const auto name = static_cast<std::uint64_t>(key);
                const int coordinator = key % ranks;
                job[rank].notify(name, coordinator, rank - 10);
                if (random() % 4 == 0)
                    std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
                job[rank].notify(name, coordinator, 100 * rank + key); // the last word
                if (random() % 4 == 0)
                    std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
                values[static_cast<std::size_t>(rank)].push_back(
                    job[rank].decide(name, coordinator, ""));
                if (key % kTogether == 0) { // as calls keep ranks together
                    together.arrive_and_wait();
                    job[rank].forget_decisions(0, name + 1);
                }
            }
        });
    for (std::thread &member : members)
        member.join();
    for (int key = 0; key < keys; ++key) {
        const std::string &decided = values[0][static_cast<std::size_t>(key)];
        for (const auto &each : values)
            CHECK(each[static_cast<std::size_t>(key)] == decided);
        for (int rank = 0; rank < ranks; ++rank) {
            const std::string name = std::to_string(rank) + "=";
            const std::string last = name + std::to_string(100 * rank + key) + " ";
            if (contains(decided, name))
                CHECK((contains(decided, last) ||
                       contains(decided, name + std::to_string(rank - 10) + " ")));
        }
        // Who asks first has told before: that much is always there.
        CHECK(!decided.empty());
    }
}

TEST_CASE("who is late is the same for all, whoever comes when and however late messages are") {
    const int ranks = 5, keys = test::full_tier() ? 10'000 : 150;
    // Of the coordinators' agents.
    std::vector<std::map<std::uint64_t, arrival::Latecomers>> rolls(ranks);
    static constexpr std::uint64_t kGrace = 300'000, kPatience = 20'000'000;
    Job job(ranks, kPatient, 5, [&](AgentOptions &options, Hooks &hooks) {
        auto &here = rolls[static_cast<std::size_t>(options.rank)];
        hooks.choose = [&here](std::uint64_t key, int from, const std::string &) {
            const std::uint64_t now = now_ns();
            arrival::Latecomers &roll =
                here.try_emplace(key, std::vector{0, 1, 2, 3, 4}, 1 + key % 2, kGrace, kPatience)
                    .first->second;
            if (from != kNoRank)
                roll.came(from, now);
            const auto late = roll.who(now);
            if (!late)
                return Answer::not_before(roll.due());
            std::string text;
            for (const int each : *late)
                text += std::to_string(each) + " ";
            return Answer(text);
        };
    });
    std::vector<std::vector<std::string>> values(ranks);
    std::vector<std::thread> members;
    std::barrier together(ranks);
    std::atomic<int> named{0};
    for (int rank = 0; rank < ranks; ++rank)
        members.emplace_back([&, rank] {
            for (int key = 0; key < keys; ++key) {
                const auto name = static_cast<std::uint64_t>(key);
                if ((key * 7 / 3) % ranks == rank) // another one is late to each
                    std::this_thread::sleep_for(std::chrono::milliseconds(key % 4));
                const std::string late = job[rank].decide(name, key % ranks, "");
                if (contains(late, std::to_string(rank) + " "))
                    ++named;
                values[static_cast<std::size_t>(rank)].push_back(late);
                together.arrive_and_wait();
            }
        });
    for (std::thread &member : members)
        member.join();
    for (int key = 0; key < keys; ++key)
        for (const auto &each : values)
            CHECK(each[static_cast<std::size_t>(key)] == values[0][static_cast<std::size_t>(key)]);
    CHECK(named > 0);
}
