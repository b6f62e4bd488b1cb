// SPDX-License-Identifier: BSD-3-Clause
// Event sources of every kind: what a look sees, and what ends a sleep.
#include "doctest.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <sched.h>
#include <string>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "support/pipes.hpp"
#include "transport/remote/linked_peers.hpp"
#include "transport/wait/doorbell.hpp"
#include "transport/wait/events.hpp"
#include "transport/wait/wait_policy.hpp"

using namespace stretto;
using stretto::test::Pipes;
using transport::EventSet;
using transport::EventSource;
using Reports = EventSource::Reports;

namespace {

constexpr std::uint64_t kMinute = 60'000'000'000;

struct Source final : EventSource {
    explicit Source(Reports how) : tells_(how) {}
    Reports reports() const override { return tells_; }
    bool arm() override {
        ++armed;
        return may_sleep;
    }
    void ring() const {
        const std::uint64_t one = 1;
        REQUIRE(write(event.get(), &one, sizeof(one)) == sizeof(one));
    }

    const Reports tells_;
    Descriptor event{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    int armed = 0;
    bool may_sleep = true;
};

// Tags of what is ready of a source.
std::vector<std::uint64_t> tags(const EventSet::Ready &ready, EventSet::Id source) {
    std::vector<std::uint64_t> found;
    ready.of(source, [&](std::uint64_t tag, bool readable, bool) {
        if (readable)
            found.push_back(tag);
    });
    return found;
}

// A queue of which every look takes all that is in it, and what it was armed for.
class Queue final : public transport::Links, public EventSource {
public:
    std::string place(int) const override { return "nowhere"; }
    void send(int, const transport::WireMessage &, const std::byte *, bool) override {}
    void push(Which) override {}
    void drop(int) override {}
    bool sent() const override { return true; }
    bool delivered() const override { return true; }
    Reports reports() const override { return Reports::when_armed; }
    bool arm() override {
        const std::lock_guard lock(mutex_);
        armed_ = events_ == 0;
        return armed_;
    }
    bool progress(Receiver &, const EventSet::Ready &) override {
        const std::lock_guard lock(mutex_);
        armed_ = false;
        std::uint64_t count = 0;
        (void)!read(event.get(), &count, sizeof(count));
        return std::exchange(events_, 0) != 0;
    }
    void post() {
        const std::lock_guard lock(mutex_);
        ++events_;
        const std::uint64_t one = 1;
        if (std::exchange(armed_, false))
            (void)!write(event.get(), &one, sizeof(one));
    }
    bool armed() {
        const std::lock_guard lock(mutex_);
        return armed_;
    }

    const Descriptor event{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

private:
    std::mutex mutex_;
    bool armed_ = false;
    int events_ = 0;
};

// Two ranks that share no memory.
struct World {
    explicit World(Reports tells) : pipes(2, tells) {
        for (int rank = 0; rank < 2; ++rank) {
            auto events = std::make_unique<EventSet>();
            auto links = pipes.links(*events, rank);
            add(rank, std::move(events), std::move(links));
        }
    }
    // Rank 0 alone, whose links are a queue.
    explicit World(std::unique_ptr<Queue> links, unsigned cores_of_both = 2)
        : pipes(2), cores(cores_of_both), queue(links.get()) {
        auto events = std::make_unique<EventSet>();
        events->watch(events->add(*links), links->event.get());
        add(0, std::move(events), std::move(links));
    }
    void add(int rank, std::unique_ptr<EventSet> events, std::unique_ptr<transport::Links> links) {
        transport::SegmentShape shape;
        shape.ranks = 2;
        shape.cores = cores;
        shape.ring_bytes = 1 << 16;
        shape.heap_bytes = 1 << 20;
        shape.key = (static_cast<std::uint64_t>(getpid()) << 8) | 1;
        shape.placement = transport::Placement({0, 1}, rank);
        segments.push_back(transport::Segment::create(shape));
        linked_peers.push_back(std::make_unique<transport::LinkedPeers>(
            *segments.back(), rank, std::move(events), std::move(links)));
    }

    // Rank 0 sleeps for at most an hour, on its event set or behind a thread that does, until
    // something has come.  Returns what it has slept.
    std::uint64_t sleep() {
        const std::uint64_t start = now_ns();
        transport::Doorbell bell(*segments[0], 0);
        bell.announce(transport::Doorbell::Until::published);
        bell.sleep(60 * kMinute);
        bell.withdraw();
        return now_ns() - start;
    }
    void send() {
        linked_peers[1]->inquire(0); // which rank 0 answers
    }

    Pipes pipes;
    unsigned cores = 2;
    Queue *queue = nullptr;
    std::vector<std::shared_ptr<transport::Segment>> segments;
    std::vector<std::unique_ptr<transport::LinkedPeers>> linked_peers;
};

} // namespace

TEST_CASE("a look returns the events of each source by its tags, and a sleep the bell as well") {
    EventSet events;
    Source one(Reports::by_descriptors), other(Reports::by_descriptors);
    const EventSet::Id first = events.add(one), second = events.add(other);
    Descriptor bell(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    events.watch(first, one.event.get(), 7);
    events.watch(second, other.event.get(), (1ull << 40) + 3);
    EventSet::Ready ready;
    events.look(ready);
    CHECK(tags(ready, first).empty());
    CHECK_FALSE(ready.woken());
    one.ring();
    other.ring();
    events.wake_by(bell.get());
    events.look(ready);
    CHECK_FALSE(ready.woken());
    CHECK(tags(ready, first) == std::vector<std::uint64_t>{7});
    CHECK(tags(ready, second) == std::vector<std::uint64_t>{(1ull << 40) + 3});
    events.sleep(ready, EventSet::Until::event, kMinute, 0);
    CHECK(tags(ready, first).size() == 1);
    CHECK_FALSE(ready.woken());
    events.unwatch(one.event.get());
    events.unwatch(other.event.get());
    events.sleep(ready, EventSet::Until::event_or_bell, kMinute, 0);
    CHECK(tags(ready, first).empty());
    CHECK(ready.woken());
    CHECK_FALSE(events.arms());
}

TEST_CASE("a set of queues alone looks at no descriptor, and sleeps until one shows") {
    EventSet events;
    Source queue(Reports::when_armed);
    const EventSet::Id source = events.add(queue);
    events.watch(source, queue.event.get());
    queue.ring();
    EventSet::Ready ready;
    events.look(ready);
    CHECK(tags(ready, source).empty());
    events.sleep(ready, EventSet::Until::event, kMinute, 0);
    CHECK(tags(ready, source).size() == 1);
}

TEST_CASE("every queue is armed, and one that has events keeps the rank awake") {
    EventSet events;
    Source full(Reports::when_armed), empty(Reports::when_armed), sockets(Reports::by_descriptors);
    for (Source *each : {&full, &empty, &sockets})
        (void)events.add(*each);
    CHECK(events.arms());
    CHECK(events.arm());
    full.may_sleep = false;
    CHECK_FALSE(events.arm());
    CHECK(full.armed == 2);
    CHECK(empty.armed == 2);
    CHECK(sockets.armed == 0);
}

TEST_CASE("if a source reports only in memory, a sleep of any length is a nap") {
    EventSet events;
    Source memory(Reports::in_memory), sockets(Reports::by_descriptors);
    (void)events.add(memory);
    events.watch(events.add(sockets), sockets.event.get());
    EventSet::Ready ready;
    for (const std::uint64_t slept : {std::uint64_t{0}, std::uint64_t{100'000}, kMinute}) {
        const std::uint64_t start = now_ns();
        events.sleep(ready, EventSet::Until::event_or_bell, 60 * kMinute, slept);
        CHECK(now_ns() - start < kMinute);
    }
}

TEST_CASE("arriving data ends the sleep of a rank, for all kinds of links") {
    for (const Reports tells : {Reports::by_descriptors, Reports::when_armed, Reports::in_memory}) {
        CAPTURE(static_cast<int>(tells));
        World world(tells);
        for (int times = 0; times < 20; ++times) {
            auto slept = std::async(std::launch::async, [&] { return world.sleep(); });
            if (times % 2 == 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(times / 2));
            world.send();
            REQUIRE(slept.wait_for(std::chrono::minutes(2)) == std::future_status::ready);
            CHECK(slept.get() < 2 * kMinute);
            // The answer, so that rank 1 may ask again.
            while (!world.linked_peers[1]->make_progress(transport::RemotePeers::Caller::awake))
                continue;
        }
    }
}

TEST_CASE("a thread that looks while another sleeps leaves the queue armed for it") {
    World world(std::make_unique<Queue>());
    Queue &queue = *world.queue;
    for (int times = 0; times < 20; ++times) {
        auto slept = std::async(std::launch::async, [&] { return world.sleep(); });
        while (!queue.armed())
            std::this_thread::yield();
        for (int looks = 0; looks < 3; ++looks) {
            CHECK_FALSE(
                world.linked_peers[0]->make_progress(transport::RemotePeers::Caller::awake));
            CHECK(queue.armed());
        }
        queue.post();
        REQUIRE(slept.wait_for(std::chrono::minutes(2)) == std::future_status::ready);
        CHECK(slept.get() < 2 * kMinute);
        CHECK_FALSE(world.linked_peers[0]->make_progress(transport::RemotePeers::Caller::awake));
    }
}

TEST_CASE("a thread that looks while another sleeps leaves it the bell") {
    World world(Reports::by_descriptors);
    std::atomic<bool> over{false};
    auto looks = std::async(std::launch::async, [&] {
        while (!over)
            (void)world.linked_peers[0]->make_progress(transport::RemotePeers::Caller::awake);
    });
    bool woken = true;
    for (int times = 0; times < 200 && woken; ++times) {
        auto slept = std::async(std::launch::async, [&] { return world.sleep(); });
        // Before it sleeps, a ring does nothing; and nothing after the first that does.
        const std::uint64_t end = now_ns() + 2 * kMinute;
        for (woken = false; !woken && now_ns() < end;) {
            transport::Doorbell(*world.segments[0], 0).ring();
            woken = slept.wait_for(std::chrono::microseconds(100)) == std::future_status::ready;
        }
        if (!woken) // nor does the test sleep for an hour
            world.send();
    }
    CHECK(woken);
    over = true;
}

TEST_CASE("a thread that sleeps beside another sends what is held first") {
    World world(Reports::by_descriptors);
    const transport::Signals &signals = world.segments[0]->header().signals;
    auto slept = std::async(std::launch::async, [&] { return world.sleep(); });
    while (signals.sleepers.load() < 2) // one stands for the ranks of other hosts
        std::this_thread::yield();
    const std::array<std::byte, 64> data{};
    world.linked_peers[0]->send_cell(1, {.position = 0,
                                         .flag = 1,
                                         .where = transport::Location::In::cell,
                                         .payload = data.data(),
                                         .length = data.size()});
    auto beside = std::async(std::launch::async, [&] { return world.sleep(); });
    const std::uint64_t end = now_ns() + 2 * kMinute;
    bool come = false;
    while (!come && now_ns() < end)
        come = world.linked_peers[1]->make_progress(transport::RemotePeers::Caller::awake);
    CHECK(come);
    world.send(); // wakes both
}

TEST_CASE("a thread that finds another asleep sleeps beside it only if nothing has come") {
    World world(std::make_unique<Queue>());
    Queue &queue = *world.queue;
    auto slept = std::async(std::launch::async, [&] { return world.sleep(); });
    while (!queue.armed())
        std::this_thread::yield();
    auto beside = std::async(std::launch::async, [&] { return world.sleep(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    queue.post();
    for (auto *each : {&slept, &beside}) {
        REQUIRE(each->wait_for(std::chrono::minutes(2)) == std::future_status::ready);
        CHECK(each->get() < 2 * kMinute);
    }
}

TEST_CASE("a rank that shares its core with others does not preempt them in a long call") {
    // The policy of the thread when it is about to sleep.
    struct Waiting final : transport::Waitable {
        bool attempt() override { return naps == 2; }
        void diagnose(std::uint64_t) override {}
        std::uint64_t longest_nap() const override {
            ++naps;
            last = sched_getscheduler(0);
            return 1'000'000;
        }

        mutable int naps = 0, last = -1;
    };
    const auto policy_asleep = [](unsigned cores, transport::WaitPolicy policy) {
        const World world(std::make_unique<Queue>(), cores);
        const sched_param priority{};
        REQUIRE(sched_setscheduler(0, SCHED_OTHER, &priority) == 0); // the tests may run at another
        Waiting waiting;
        transport::wait(*world.segments[0], 0, waiting, policy);
        CHECK(sched_getscheduler(0) == SCHED_OTHER);
        return waiting.last;
    };
    constexpr std::size_t kLongBytes = std::size_t{128} << 10, kShortBytes = 1024;
    CHECK(policy_asleep(1, transport::caller(0, kLongBytes)) == SCHED_BATCH);
    CHECK(policy_asleep(1, transport::caller(0, kShortBytes)) == SCHED_OTHER);
    CHECK(policy_asleep(1, transport::kHelper) == SCHED_OTHER);
    CHECK(policy_asleep(2, transport::caller(0, kLongBytes)) == SCHED_OTHER);
}
