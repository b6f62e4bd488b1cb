// SPDX-License-Identifier: BSD-3-Clause
// Plans that are made before their call, by another thread: used once, waited for, never stale.
#include "doctest.h"

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "arrival/plan_prefetch.hpp"
#include "base/status.hpp"
#include "calls/plan_inputs.hpp"

using namespace stretto;
using arrival::PlanPrefetch;
using calls::PlanInputs;

namespace {

PlanInputs recipe_for(int rank) {
    PlanInputs recipe;
    recipe.ranks = 5;
    recipe.rank = rank;
    recipe.options.count = 1009;
    return recipe;
}

const std::string kChain = "chain(segments=7)";
const std::vector<int> kOrder = {3, 1, 4, 0, 2};

PlanPrefetch::Prepared prepared() {
    return {kChain, kOrder, recipe_for(2).plan(kChain, kOrder)};
}

} // namespace

TEST_CASE("what was prepared for a call is had once, and by no other call") {
    PlanPrefetch preparation;
    preparation.expect(7);
    preparation.prepare(6, [] { return prepared(); });
    preparation.prepare(7, [] { return prepared(); });
    CHECK(preparation.come(8).plan == nullptr);
    const PlanPrefetch::Prepared had = preparation.come(7);
    REQUIRE(had.plan != nullptr);
    CHECK(had.algorithm == kChain);
    CHECK(had.order == kOrder);
    CHECK(preparation.come(7).plan == nullptr);
    preparation.expect(8);
    CHECK(preparation.come(8).plan == nullptr);
}

TEST_CASE("nothing is prepared for a rank that has come") {
    PlanPrefetch preparation;
    preparation.expect(1);
    CHECK(preparation.come(1).plan == nullptr);
    bool made = false;
    preparation.prepare(1, [&] {
        made = true;
        return PlanPrefetch::Prepared{};
    });
    CHECK(!made);
}

TEST_CASE("a rank that comes meanwhile waits") {
    PlanPrefetch preparation;
    preparation.expect(1);
    std::promise<void> begun;
    std::thread agent([&] {
        preparation.prepare(1, [&] {
            begun.set_value();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return prepared();
        });
    });
    begun.get_future().wait();
    CHECK(preparation.come(1).plan != nullptr);
    agent.join();
}

TEST_CASE("what cannot be prepared is left to the rank, which finds the error") {
    PlanPrefetch preparation;
    preparation.expect(1);
    preparation.prepare(1, []() -> PlanPrefetch::Prepared { throw std::runtime_error("no"); });
    CHECK(preparation.come(1).plan == nullptr);
}

TEST_CASE("a call that nobody came to leaves nothing behind") {
    PlanPrefetch preparation;
    preparation.expect(1);
    preparation.prepare(1, [&] {
        preparation.expect(2); // meanwhile
        return prepared();
    });
    CHECK(preparation.come(2).plan == nullptr);
}

TEST_CASE("turns of an agent and a rank, however they meet") {
    PlanPrefetch preparation;
    std::atomic<std::uint64_t> sealed{0};
    constexpr std::uint64_t kCalls = 2000;
    std::thread agent([&] {
        for (std::uint64_t call = 1; call <= kCalls; ++call) {
            while (sealed.load() < call)
                std::this_thread::yield();
            preparation.prepare(
                call, [&] { return PlanPrefetch::Prepared{std::to_string(call), {}, nullptr}; });
        }
    });
    std::uint64_t had = 0;
    for (std::uint64_t call = 1; call <= kCalls; ++call) {
        preparation.expect(call);
        sealed = call;
        if (call % 3 != 0)
            std::this_thread::yield();
        const std::string algorithm = preparation.come(call).algorithm;
        REQUIRE((algorithm.empty() || algorithm == std::to_string(call)));
        had += algorithm.empty() ? 0 : 1;
    }
    agent.join();
    MESSAGE(had, " of ", kCalls);
}

TEST_CASE("a recipe makes the plan of any thread: the same each time, another for another order") {
    for (int rank = 0; rank < 5; ++rank) {
        const auto one = recipe_for(rank).plan(kChain, kOrder);
        const auto other = recipe_for(rank).plan(kChain, kOrder);
        CHECK(one->identity == other->identity);
        CHECK(one->steps.size() == other->steps.size());
        CHECK(one->identity != recipe_for(rank).plan(kChain, {0, 1, 2, 3, 4})->identity);
    }
    CHECK_THROWS_AS(recipe_for(0).plan("chain(segments=0)", {}), Error);
}
