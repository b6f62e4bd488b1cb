// SPDX-License-Identifier: BSD-3-Clause
// When the progress thread is woken, when it comes by itself, and when it stays away.
#include "doctest.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/progress_wakeup.hpp"

using Left = stretto::engine::ProgressWakeup::Left;
using namespace std::chrono_literals;

namespace {

// A thread that counts how often it has been let go.
class Watcher {
public:
    Watcher()
        : thread_([this] {
              while (!wakeup.stopped()) {
                  wakeup.wait();
                  wakeup.leave_behind(Left::nothing);
                  ++times;
              }
          }) {}
    ~Watcher() {
        wakeup.stop();
        thread_.join();
    }

    // A caller has come and gone; true if it has woken the thread.
    bool visit(Left left) {
        wakeup.come();
        const bool wake = wakeup.leave(left);
        if (wake)
            wakeup.wake();
        return wake;
    }
    // Long enough for the thread to have fallen asleep for good.
    static void sleep() { std::this_thread::sleep_for(200ms); }
    void await(int wanted) const {
        for (int tries = 0; tries < 20'000 && times < wanted; ++tries)
            std::this_thread::sleep_for(1ms);
        CHECK(times == wanted);
    }

    stretto::engine::ProgressWakeup wakeup;
    std::atomic<int> times{0};

private:
    std::thread thread_;
};

} // namespace

TEST_CASE("a sleeping progress thread is woken for calls left in flight") {
    Watcher watcher;
    for (const Left left : {Left::something, Left::urgent}) {
        CAPTURE(static_cast<int>(left));
        Watcher::sleep();
        const int before = watcher.times;
        CHECK(watcher.visit(left));
        watcher.await(before + 1);
    }
    Watcher::sleep();
    CHECK(!watcher.visit(Left::nothing));
}

TEST_CASE("an awake progress thread finds calls left in flight by itself, unless they are urgent") {
    Watcher watcher;
    // It may fall asleep before we come again: then it is woken, and we try again.
    int visits = 1;
    for (; watcher.visit(Left::something) && visits < 1000; ++visits)
        watcher.await(visits);
    REQUIRE(visits < 1000);
    watcher.await(visits);
    CHECK(watcher.visit(Left::urgent));
    watcher.await(visits + 1);
}

TEST_CASE("a thread stays away from callers") {
    Watcher watcher;
    watcher.wakeup.come(); // a thread of the program stays in a call
    int visits = 1;
    for (; watcher.visit(Left::something) && visits < 1000; ++visits)
        watcher.await(visits);
    REQUIRE(visits < 1000);
    Watcher::sleep();
    CHECK(watcher.times == visits - 1);
    CHECK(watcher.wakeup.callers());
    CHECK(!watcher.wakeup.leave(Left::something)); // it has been looking all the time
    watcher.await(visits);
    CHECK(!watcher.wakeup.callers());
}
