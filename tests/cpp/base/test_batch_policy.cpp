// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <sched.h>
#include <thread>

#include "base/batch_policy.hpp"
#include "base/thread.hpp"

using namespace stretto;

TEST_CASE("a thread has the batch policy for a time") {
    const sched_param priority{};
    REQUIRE(sched_setscheduler(0, SCHED_OTHER, &priority) == 0); // the tests may run at another
    {
        const BatchPolicy batch;
        CHECK(sched_getscheduler(0) == SCHED_BATCH);
        {
            const BatchPolicy inner;
            CHECK(sched_getscheduler(0) == SCHED_BATCH);
        }
        CHECK(sched_getscheduler(0) == SCHED_BATCH);
    }
    CHECK(sched_getscheduler(0) == SCHED_OTHER);
}

TEST_CASE("threads of the library do not inherit the policy") {
    const sched_param priority{};
    REQUIRE(sched_setscheduler(0, SCHED_OTHER, &priority) == 0);
    const auto policy_of_thread = [] {
        int policy = -1;
        named_thread("stretto-test", [&] { policy = sched_getscheduler(0); }).join();
        return policy;
    };
    {
        const BatchPolicy batch;
        CHECK(policy_of_thread() == SCHED_OTHER);
        CHECK(sched_getscheduler(0) == SCHED_BATCH);
    }
    // That of the program they do.
    REQUIRE(sched_setscheduler(0, SCHED_BATCH, &priority) == 0);
    CHECK(policy_of_thread() == SCHED_BATCH);
    REQUIRE(sched_setscheduler(0, SCHED_OTHER, &priority) == 0);
}

TEST_CASE("a thread whose policy the program has set keeps it") {
    int during = -1, after = -1;
    std::thread([&] { // SCHED_IDLE is for good where a limit forbids to leave it
        const sched_param priority{};
        if (sched_setscheduler(0, SCHED_IDLE, &priority) != 0)
            return;
        {
            const BatchPolicy batch;
            during = sched_getscheduler(0);
        }
        after = sched_getscheduler(0);
    })
        .join();
    CHECK(during == SCHED_IDLE);
    CHECK(after == SCHED_IDLE);
}
