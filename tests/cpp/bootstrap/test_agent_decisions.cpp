// SPDX-License-Identifier: BSD-3-Clause
// Decisions over agents: what takes long is no work of the agent's thread.
#include "doctest.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <future>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>

#include "bootstrap/network/agent_decisions.hpp"
#include "membership/agents.hpp"

using namespace stretto;
using bootstrap::AgentDecisions;
using membership::Answer;
using Heard = AgentDecisions::Heard;
using Outcome = AgentDecisions::Outcome;
using Work = AgentDecisions::Work;
using test::kPatient;

namespace {

constexpr std::chrono::seconds kAges{120}; // no test waits for that
const std::function<void()> kNothing;

std::string thread_name() {
    char name[16] = {};
    REQUIRE(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    return name;
}

// The agents of two ranks and their decisions; rank 0 coordinates.
struct Pair {
    std::array<AgentDecisions, 2> decisions;
    test::Job job{2, kPatient, 1,
                  [this](membership::AgentOptions &options, membership::Hooks &hooks) {
                      decisions[static_cast<std::size_t>(options.rank)].add_to(hooks);
                  }};
    Pair() {
        for (int rank = 0; rank < 2; ++rank)
            decisions[static_cast<std::size_t>(rank)].use(job[rank]);
    }
    ~Pair() {
        for (AgentDecisions &each : decisions)
            each.stop();
    }
};

} // namespace

TEST_CASE("while a decision is computed, the agent decides others and answers inquiries") {
    Pair pair;
    auto &[coordinator, other] = pair.decisions;
    std::promise<void> begun, go;
    std::future<void> may_end = go.get_future();
    std::string collected_by, computed_by, followed_by;
    coordinator.decide_by(7, [&](const Heard &) -> Outcome {
        collected_by = thread_name();
        return Work([&] {
            computed_by = thread_name();
            begun.set_value();
            return std::string(may_end.wait_for(kAges) == std::future_status::ready ? "priced"
                                                                                    : "too late");
        });
    });
    coordinator.decide_by(8, [](const Heard &) { return Answer("counted"); });
    std::promise<std::string> followed;
    coordinator.when_decided(8, [&](const std::string &value) {
        followed_by = thread_name();
        followed.set_value(value);
    });
    std::string decided;
    std::thread asks([&] { decided = other.decided(7, 0, kNothing); });
    begun.get_future().wait();
    CHECK(other.decided(8, 0, kNothing) == "counted");
    CHECK(coordinator.decided(8, 0, kNothing) == "counted");
    constexpr std::uint64_t kAgesNs = 120'000'000'000;
    const auto where = pair.job[1].where(membership::RankSet::all(2), kAgesNs);
    CHECK(where[0].has_value());
    go.set_value();
    asks.join();
    CHECK(decided == "priced");
    CHECK(coordinator.decided(7, 0, kNothing) == "priced");
    CHECK(followed.get_future().get() == "counted");
    CHECK(collected_by == "stretto-member");
    CHECK(computed_by == "stretto-bg");
    CHECK(followed_by == "stretto-bg");
}

TEST_CASE("a key is computed once, with what was told before") {
    Pair pair;
    auto &[coordinator, other] = pair.decisions;
    int computed = 0;
    coordinator.decide_by(7, [&](const Heard &heard) -> Outcome {
        return Work([&, told = heard.told] {
            ++computed;
            std::string text;
            for (const auto &[rank, number] : told)
                text += std::to_string(rank) + "=" + std::to_string(number) + " ";
            return text;
        });
    });
    other.notify(7, 0, 50);
    std::string first;
    std::thread asks([&] { first = other.decided(7, 0, kNothing); });
    asks.join();
    CHECK(first == "1=50 ");
    CHECK(coordinator.decided(7, 0, kNothing) == first);
    CHECK(other.decided(7, 0, kNothing) == first);
    CHECK(computed == 1);

    SUBCASE("unasked, when it is time") {
        std::promise<std::string> got;
        other.when_decided(9, [&](const std::string &value) { got.set_value(value); });
        coordinator.decide_by(9, [](const Heard &) -> Outcome {
            return Work([] { return std::string("in time"); });
        });
        coordinator.decide_before(9, 0);
        CHECK(got.get_future().get() == "in time");
    }
    SUBCASE("what throws decides nothing") {
        coordinator.decide_by(9, [](const Heard &) -> Outcome {
            return Work([]() -> std::string { throw std::bad_alloc(); });
        });
        CHECK(other.decided(9, 0, kNothing).empty());
    }
    SUBCASE("nobody has said how: all stays as it is") {
        CHECK(other.decided(9, 0, kNothing).empty());
    }
    SUBCASE("after the background has stopped, the agent does the work itself") {
        coordinator.stop();
        coordinator.decide_by(
            9, [](const Heard &) -> Outcome { return Work([] { return thread_name(); }); });
        CHECK(other.decided(9, 0, kNothing) == "stretto-member");
    }
}
