// SPDX-License-Identifier: BSD-3-Clause
// The thread that does jobs one after another.
#include "doctest.h"

#include <future>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/background.hpp"

using namespace stretto;

namespace {

std::string thread_name() {
    char name[16] = {};
    REQUIRE(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    return name;
}

} // namespace

TEST_CASE("jobs are done in the order in which they are submitted, by one thread") {
    std::vector<int> done;
    std::vector<std::thread::id> threads;
    std::string name;
    {
        BackgroundExecutor background("stretto-test");
        background.submit([&] { name = thread_name(); });
        for (int job = 0; job < 100; ++job)
            background.submit([&, job] {
                done.push_back(job);
                threads.push_back(std::this_thread::get_id());
                if (job % 7 == 0)
                    throw std::runtime_error("the next ones are done all the same");
            });
    } // and all of them
    REQUIRE(done.size() == 100);
    for (int job = 0; job < 100; ++job)
        CHECK(done[static_cast<std::size_t>(job)] == job);
    for (const std::thread::id &each : threads)
        CHECK(each == threads.front());
    CHECK(threads.front() != std::this_thread::get_id());
    CHECK(name == "stretto-test");
}

TEST_CASE("without a thread the caller does the job") {
    BackgroundExecutor background("stretto-test");
    std::promise<void> first;
    background.submit([&] { first.set_value(); });
    first.get_future().wait();
    background.stop();
    std::vector<std::thread::id> threads;
    background.submit([&] {
        threads.push_back(std::this_thread::get_id());
        background.submit([&] { threads.push_back(std::this_thread::get_id()); });
    });
    CHECK(threads == std::vector(2, std::this_thread::get_id()));
}
