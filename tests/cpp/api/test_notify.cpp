// SPDX-License-Identifier: BSD-3-Clause
// Functions of the program that are called when requests end.
#include "doctest.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/text.hpp"
#include "support/threads_of_rank.hpp"
#include "support/world.hpp"

using test::await;
using test::await_signal;
using test::check;
using test::kLongSeconds;
using test::signal;

namespace {

// What a function was told, and how often.
struct Told {
    std::atomic<int> times{0};
    stretto_status status = STRETTO_OK;
    std::string message;

    static void function(stretto_status status, const char *message, void *context) {
        auto &told = *static_cast<Told *>(context);
        told.status = status;
        told.message = message;
        ++told.times; // last: a thread may wait for it
    }
    void await() const {
        while (times.load() == 0)
            std::this_thread::yield();
    }
};

void notify(stretto_request request, Told &told) {
    check(stretto_request_notify(request, &Told::function, &told));
}

// A function that waits until another thread has started a call.
struct Waiting {
    std::atomic<bool> entered{false}, started{false}, left{false};

    static void function(stretto_status, const char *, void *context) {
        auto &self = *static_cast<Waiting *>(context);
        self.entered.store(true);
        await(self.started);
        self.left.store(true);
    }
};

} // namespace

// Small calls are otherwise left to callers, which wait soon.
TEST_CASE("a function is called at the end of a collective for which no thread waits") {
    for (const int ranks : {1, 2, 3})
        for (const std::size_t count : {std::size_t{1}, std::size_t{200'000}})
            test::with_ranks(ranks, [&](stretto_comm comm) {
                for (int again = 0; again < 5; ++again) {
                    std::vector<std::int32_t> data(count, 1);
                    stretto_request request = nullptr;
                    check(stretto_iallreduce(comm, STRETTO_IN_PLACE, data.data(), count,
                                             STRETTO_INT32, STRETTO_SUM, &request));
                    Told told;
                    notify(request, told);
                    told.await();
                    CHECK(told.status == STRETTO_OK);
                    CHECK(told.message.empty());
                    CHECK(data.front() == ranks);
                    CHECK(data.back() == ranks);
                    check(stretto_wait(&request));
                    CHECK(told.times == 1);
                }
            });
}

TEST_CASE("a function is called at the end of a message for which no thread waits") {
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{300'000}})
        test::with_ranks(2, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            std::vector<std::uint8_t> sent(bytes, static_cast<std::uint8_t>(7 + rank)),
                received(bytes);
            stretto_request out = nullptr, in = nullptr;
            Told sends, receives;
            check(stretto_irecv(comm, received.data(), bytes, STRETTO_UINT8, 1 - rank, 0, nullptr,
                                &in));
            notify(in, receives);
            check(stretto_isend(comm, sent.data(), bytes, STRETTO_UINT8, 1 - rank, 0, &out));
            notify(out, sends);
            sends.await();
            receives.await();
            CHECK(receives.status == STRETTO_OK);
            CHECK(received.back() == 7 + 1 - rank);
            check(stretto_wait(&in));
            check(stretto_wait(&out));
        });
}

TEST_CASE("a function is called once for a collective of many messages, and for an empty one") {
    for (const int ranks : {1, 3})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            const auto size = static_cast<std::size_t>(ranks);
            std::vector<std::size_t> counts(size, 1);
            std::vector<std::int32_t> sent(size, stretto_rank(comm)), received(size, -1);
            stretto_request request = nullptr;
            Told told;
            check(stretto_ialltoallv(comm, sent.data(), counts.data(), nullptr, received.data(),
                                     counts.data(), nullptr, STRETTO_INT32, &request));
            notify(request, told);
            told.await();
            for (int r = 0; r < ranks; ++r)
                CHECK(received[static_cast<std::size_t>(r)] == r);
            check(stretto_wait(&request));
            CHECK(told.times == 1);
        });
}

TEST_CASE("a function is called at once if the request has ended") {
    test::with_ranks(1, [](stretto_comm comm) {
        std::int32_t one = 1;
        stretto_request request = nullptr;
        check(stretto_iallreduce(comm, STRETTO_IN_PLACE, &one, 1, STRETTO_INT32, STRETTO_SUM,
                                 &request));
        Told told;
        notify(request, told);
        CHECK(told.times == 1);
        check(stretto_wait(&request));
        check(stretto_isend(comm, &one, 1, STRETTO_INT32, 0, 0, &request));
        check(stretto_recv(comm, &one, 1, STRETTO_INT32, 0, 0, nullptr));
        Told sent;
        notify(request, sent);
        CHECK(sent.times == 1);
        check(stretto_wait(&request));
    });
}

TEST_CASE("a function gets the failure, and the error of a message") {
    test::with_ranks(2, [](stretto_comm comm) {
        check(stretto_set_timeout(comm, kLongSeconds));
        const int rank = stretto_rank(comm);
        std::int32_t values[2] = {1, 2};
        if (rank == 1) {
            check(stretto_send(comm, values, 2, STRETTO_INT32, 0, 0));
            await_signal(comm, 0);
            check(stretto_comm_abort(comm, "enough"));
            return;
        }
        Told truncated, aborted, unmatched;
        stretto_request request = nullptr, receive = nullptr;
        check(stretto_irecv(comm, values, 1, STRETTO_INT32, 1, 0, nullptr, &receive));
        notify(receive, truncated);
        truncated.await();
        CHECK(truncated.status == STRETTO_ERR_TRUNCATED);
        CHECK(stretto_wait(&receive) == STRETTO_ERR_TRUNCATED);
        check(stretto_iallreduce(comm, STRETTO_IN_PLACE, values, 1, STRETTO_INT32, STRETTO_SUM,
                                 &request));
        notify(request, aborted);
        check(stretto_irecv(comm, &values[1], 1, STRETTO_INT32, 1, 9, nullptr, &receive));
        notify(receive, unmatched);
        signal(comm, 1);
        aborted.await();
        unmatched.await();
        CHECK(aborted.status == STRETTO_ERR_ABORTED);
        CHECK(test::contains(aborted.message, "enough"));
        CHECK(unmatched.status == STRETTO_ERR_ABORTED);
        CHECK(stretto_wait(&request) == STRETTO_ERR_ABORTED);
        CHECK(stretto_wait(&receive) != STRETTO_OK);
    });
}

TEST_CASE("a function is called without locks of the library") {
    test::with_ranks(2, [](stretto_comm comm) {
        for (int again = 0; again < 50; ++again) {
            std::int32_t first = 1, second = 1;
            stretto_request one = nullptr, two = nullptr;
            Waiting waiting;
            check(stretto_iallreduce(comm, STRETTO_IN_PLACE, &first, 1, STRETTO_INT32, STRETTO_SUM,
                                     &one));
            test::Beside starter([&] {
                await(waiting.entered);
                check(stretto_iallreduce(comm, STRETTO_IN_PLACE, &second, 1, STRETTO_INT32,
                                         STRETTO_SUM, &two));
                waiting.started.store(true);
            });
            check(stretto_request_notify(one, &Waiting::function, &waiting));
            check(stretto_wait(&one));
            starter.join();
            check(stretto_wait(&two));
            await(waiting.left); // the function may outlast the wait
            REQUIRE(first + second == 4);
        }
    });
}

// A thread that sits in a blocking call ends a message for which another one has a function.
TEST_CASE("a function is called while a thread is in a blocking call") {
    test::with_ranks(2, [](stretto_comm comm) {
        check(stretto_set_timeout(comm, kLongSeconds));
        std::int32_t one = 1, received = 0;
        if (stretto_rank(comm) == 1) {
            check(stretto_send(comm, &one, 1, STRETTO_INT32, 0, 5));
            await_signal(comm, 0); // of the function
            check(stretto_barrier(comm));
            return;
        }
        stretto_request request = nullptr;
        Told told;
        check(stretto_irecv(comm, &received, 1, STRETTO_INT32, 1, 5, nullptr, &request));
        notify(request, told);
        test::Beside blocked([&] { check(stretto_barrier(comm)); });
        told.await();
        CHECK(received == 1);
        signal(comm, 1);
        blocked.join();
        check(stretto_wait(&request));
    });
}

TEST_CASE("a persistent request calls the function of each run") {
    test::with_ranks(2, [](stretto_comm comm) {
        std::int32_t one = 1, sum = 0;
        stretto_request request = nullptr;
        check(stretto_allreduce_init(comm, &one, &sum, 1, STRETTO_INT32, STRETTO_SUM, &request));
        Told told;
        CHECK(stretto_request_notify(request, &Told::function, &told) == STRETTO_ERR_ARGUMENT);
        for (int run = 1; run <= 3; ++run) {
            check(stretto_start(request));
            notify(request, told);
            CHECK(stretto_request_notify(request, &Told::function, &told) == STRETTO_ERR_ARGUMENT);
            check(stretto_wait(&request));
            while (told.times.load() < run)
                std::this_thread::yield();
        }
        CHECK(told.times == 3);
        check(stretto_request_free(&request));
    });
}

TEST_CASE("all functions have been called when the communicator is finalized") {
    Told unwanted, ended;
    test::with_ranks(2, [&](stretto_comm comm) {
        if (stretto_rank(comm) == 1) {
            check(stretto_barrier(comm));
            return;
        }
        std::int32_t value = 0;
        stretto_request receive = nullptr, barrier = nullptr;
        check(stretto_barrier(comm));
        check(stretto_irecv(comm, &value, 1, STRETTO_INT32, 1, 0, nullptr, &receive));
        notify(receive, unwanted);
        check(stretto_isend(comm, &value, 1, STRETTO_INT32, 0, 1, &barrier));
        notify(barrier, ended);
        check(stretto_recv(comm, &value, 1, STRETTO_INT32, 0, 1, nullptr));
    });
    CHECK(unwanted.times == 1); // cancelled
    CHECK(ended.times == 1);
}
