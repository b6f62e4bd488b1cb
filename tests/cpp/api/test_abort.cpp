// SPDX-License-Identifier: BSD-3-Clause
// A rank that aborts a communicator, while its threads and the other ranks are inside or not.
#include "doctest.h"

#include <atomic>
#include <cstdint>
#include <string>

#include "support/text.hpp"
#include "support/threads_of_rank.hpp"
#include "support/world.hpp"

using test::await;
using test::Beside;
using test::check;
using test::kLongSeconds;
using test::Watched;

namespace {

void check_aborted(stretto_status status) {
    const std::string text = stretto_last_error();
    CAPTURE(text);
    CHECK(status == STRETTO_ERR_ABORTED);
    CHECK(test::contains(text, "rank 0 aborted the communicator: the loss is NaN"));
}

stretto_status sum(stretto_comm comm, std::int32_t &value) {
    return stretto_allreduce(comm, STRETTO_IN_PLACE, &value, 1, STRETTO_INT32, STRETTO_SUM);
}

} // namespace

// Rank 2 makes no collective, and rank 0 sends nothing.
TEST_CASE("an abort ends the calls and waits of all threads of all ranks") {
    test::with_ranks(3, [](stretto_comm comm) {
        check(stretto_set_timeout(comm, kLongSeconds));
        const int rank = stretto_rank(comm);
        std::int32_t values[2] = {1, 1}, received = 0;
        std::atomic<bool> inside[3] = {false, false, false};
        stretto_request request = nullptr;
        if (rank == 0)
            check(stretto_iallreduce(comm, STRETTO_IN_PLACE, &values[0], 1, STRETTO_INT32,
                                     STRETTO_SUM, &request));
        Beside waiter([&] {
            const Watched watched(inside[0]);
            if (rank == 0)
                check_aborted(stretto_wait(&request));
        });
        Beside blocked([&] {
            if (rank == 0) // the order of the two calls
                await(inside[0]);
            const Watched watched(inside[1]);
            if (rank == 0)
                check_aborted(sum(comm, values[1]));
        });
        Beside receiver([&] {
            const Watched watched(inside[2]);
            check_aborted(
                stretto_recv(comm, &received, 1, STRETTO_INT32, (rank + 1) % 3, 0, nullptr));
        });
        if (rank == 0) {
            for (const std::atomic<bool> &each : inside)
                await(each);
            check(stretto_comm_abort(comm, "the loss is NaN"));
            check(stretto_comm_abort(comm, "the first reason holds"));
        }
        waiter.join();
        blocked.join();
        receiver.join();
        CHECK(sum(comm, values[1]) == STRETTO_ERR_REVOKED);
        CHECK(test::contains(stretto_last_error(), "the loss is NaN"));
        stretto_comm left = nullptr;
        std::uint64_t completed = 1;
        check(stretto_comm_shrink(comm, &completed, &left));
        CHECK(completed == 0);
        std::int32_t one = 1;
        check(sum(left, one));
        CHECK(one == 3);
        check(stretto_finalize(&left));
    });
}

TEST_CASE("ranks that are elsewhere get the abort in their next call") {
    test::with_ranks(2, [](stretto_comm comm) {
        check(stretto_set_timeout(comm, kLongSeconds));
        std::int32_t one = 1;
        check(sum(comm, one));
        if (stretto_rank(comm) == 0) {
            test::await_signal(comm, 1); // which has left the call
            check(stretto_comm_abort(comm, "the loss is NaN"));
        } else {
            test::signal(comm, 0);
        }
        check_aborted(sum(comm, one));
    });
}

TEST_CASE("an abort needs no reason, and is of one communicator only") {
    test::with_ranks(2, [](stretto_comm comm) {
        stretto_comm child = nullptr;
        std::int32_t one = 1;
        check(stretto_comm_dup(comm, &child));
        check(stretto_barrier(comm)); // all ranks have made it
        check(stretto_comm_abort(child, nullptr));
        CHECK(sum(child, one) == STRETTO_ERR_ABORTED);
        CHECK(test::contains(stretto_last_error(), "it gave no reason"));
        check(stretto_finalize(&child));
        one = 1;
        check(sum(comm, one));
        CHECK(one == 2);
    });
}
