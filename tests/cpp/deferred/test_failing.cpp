// SPDX-License-Identifier: BSD-3-Clause
// Calls that fail while steps are issued: whoever gets its buffers back has them for itself.
#include "doctest.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "handles.hpp"
#include "support/deferred.hpp"
#include "support/environment.hpp"
#include "support/processes.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using test::check;
using test::contains;
using test::Deferred;
using test::With;

constexpr int kRanks = 3;
constexpr std::size_t kCount = 3001;

struct Buffers {
    std::vector<std::int64_t> send = std::vector<std::int64_t>(kCount, 1);
    std::vector<std::int64_t> recv = std::vector<std::int64_t>(kCount);

    stretto_status sum(stretto_comm comm) {
        return stretto_allreduce(comm, send.data(), recv.data(), kCount, STRETTO_INT64,
                                 STRETTO_SUM);
    }
    stretto_status start(stretto_comm comm, stretto_request *request) {
        return stretto_iallreduce(comm, send.data(), recv.data(), kCount, STRETTO_INT64,
                                  STRETTO_SUM, request);
    }
    bool used_by(Deferred &executor) const {
        constexpr std::size_t kBytes = kCount * sizeof(std::int64_t);
        return executor.uses(send.data(), kBytes) || executor.uses(recv.data(), kBytes);
    }
};

// Releases what the executor holds when the communicator has failed and calls have had time to
// return too early.
class Releaser {
public:
    Releaser(stretto_comm comm, Deferred &executor)
        : thread_([this, segment = comm->communicator.segment(), &executor] {
              while (!segment->failed())
                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
              held = executor.taken();
              constexpr int kPatience = 200; // ms
              for (int i = 0; i < kPatience && returned == 0; ++i)
                  std::this_thread::sleep_for(std::chrono::milliseconds(1));
              executor.release();
          }) {}
    ~Releaser() { thread_.join(); }
    Releaser(const Releaser &) = delete;
    Releaser &operator=(const Releaser &) = delete;

    std::atomic<std::size_t> held{0};
    std::atomic<int> returned{0};

private:
    std::thread thread_;
};

} // namespace

TEST_CASE("a call that times out ends when no step of it is issued any more") {
    const With timeout("STRETTO_TIMEOUT", "0.2");
    for (const auto tells : {Deferred::Tells::signals, Deferred::Tells::polled}) {
        Deferred executor(tells);
        const test::Registered registered(stretto::MemoryKind::host, executor);
        test::with_ranks(kRanks, [&](stretto_comm comm) {
            check(stretto_force_algorithm(comm, "ring"));
            executor.hold();
            Releaser releaser(comm, executor);
            {
                Buffers buffers;
                CHECK(buffers.sum(comm) == STRETTO_ERR_TIMEOUT);
                CHECK_FALSE(buffers.used_by(executor));
                ++releaser.returned;
            }
            const std::string text = stretto_last_error();
            CAPTURE(text);
            CHECK(contains(text, "for a copy, reduction or stream of its own in step "));
            CHECK(contains(text, " come but get"));
        });
    }
}

TEST_CASE("calls in flight that time out end when no step of theirs is issued any more") {
    const With timeout("STRETTO_TIMEOUT", "0.2");
    for (const auto tells : {Deferred::Tells::signals, Deferred::Tells::polled}) {
        Deferred executor(tells);
        const test::Registered registered(stretto::MemoryKind::host, executor);
        test::with_ranks(kRanks, [&](stretto_comm comm) {
            check(stretto_force_algorithm(comm, "direct"));
            constexpr std::size_t kFlights = 4;
            std::vector<Buffers> buffers(kFlights);
            std::vector<stretto_request> requests(kFlights);
            executor.hold();
            std::size_t started = 0; // until others have waited too long for this rank
            while (started < kFlights &&
                   buffers[started].start(comm, &requests[started]) == STRETTO_OK)
                ++started;
            Releaser releaser(comm, executor);
            for (std::size_t k = 0; k < started; ++k) {
                const stretto_status status = stretto_wait(&requests[k]);
                CHECK(status != STRETTO_OK);
                CHECK_FALSE(buffers[k].used_by(executor));
                buffers[k] = {};
                ++releaser.returned;
            }
        });
    }
}

TEST_CASE("a communicator that is left with calls in flight waits for their steps") {
    Deferred executor(Deferred::Tells::signals);
    const test::Registered registered(stretto::MemoryKind::host, executor);
    Buffers buffers;
    stretto_comm comm = nullptr;
    check(stretto_init_explicit(0, 1, test::fresh_job().c_str(), &comm));
    executor.hold();
    stretto::calls::Request request;
    request.input = buffers.send.data();
    request.output = buffers.recv.data();
    request.count = kCount;
    request.dtype = stretto::Dtype::i64;
    (void)comm->communicator.start(request); // nobody waits for it
    REQUIRE(buffers.used_by(executor));
    std::atomic<bool> left{false};
    std::thread releaser([&] {
        for (int i = 0; i < 100 && !left; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        executor.release();
    });
    check(stretto_finalize(&comm));
    CHECK_FALSE(buffers.used_by(executor));
    left = true;
    releaser.join();
}

TEST_CASE("a step that fails ends the call on all ranks, with its reason") {
    for (const auto tells : {Deferred::Tells::signals, Deferred::Tells::polled}) {
        Deferred executor(tells);
        const test::Registered registered(stretto::MemoryKind::host, executor);
        std::barrier meeting(kRanks);
        test::with_ranks(kRanks, [&](stretto_comm comm) {
            Buffers buffers;
            check(buffers.sum(comm));
            for (const std::int64_t each : buffers.recv)
                REQUIRE(each == kRanks);
            meeting.arrive_and_wait();
            executor.break_down({stretto::Status::system, "the device is gone"});
            CHECK(buffers.sum(comm) == STRETTO_ERR_SYSTEM);
            CHECK_FALSE(buffers.used_by(executor));
            const std::string text = stretto_last_error();
            CAPTURE(text);
            CHECK(contains(text, "a copy or reduction of rank "));
            CHECK(contains(text, "in allreduce(3001 x int64, sum)"));
            CHECK(contains(text, "failed: the device is gone"));
        });
    }
}

TEST_CASE("ranks whose peer dies have their buffers for themselves") {
    constexpr int kTold = 7, kWrong = 8;
    const auto codes = test::on_processes(kRanks, [&](stretto_comm comm) {
        Deferred executor(Deferred::Tells::signals); // each process has its own
        const test::Registered registered(stretto::MemoryKind::host, executor);
        check(stretto_force_algorithm(comm, "ring"));
        executor.hold();
        Buffers buffers;
        if (stretto_rank(comm) == 1) {
            std::thread([&] {
                while (executor.taken() == 0)
                    std::this_thread::yield();
                kill(getpid(), SIGKILL);
            }).detach();
            (void)buffers.sum(comm);
            return kWrong;
        }
        bool right = false;
        {
            Releaser releaser(comm, executor);
            const stretto_status status = buffers.sum(comm);
            right = status == STRETTO_ERR_PEER && contains(stretto_last_error(), "rank 1") &&
                    !buffers.used_by(executor);
            ++releaser.returned;
            buffers = {};
        }
        return stretto_finalize(&comm) == STRETTO_OK && right ? kTold : kWrong;
    });
    CHECK(codes == std::vector<int>{kTold, -SIGKILL, kTold});
}
