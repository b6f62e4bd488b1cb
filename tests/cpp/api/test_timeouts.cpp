// SPDX-License-Identifier: BSD-3-Clause
// Limits of calls, and what interrupts them: the rank that gives up a call tells all others why.
// Without a limit the calls below would have no end, as STRETTO_TIMEOUT does not end them.
#include "doctest.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/environment.hpp"
#include "support/survivors.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

using Call = std::function<stretto_status(stretto_comm)>;

// Runs `call` on rank 0, for which rank 1 does not do its part before rank 0 has been told.  Gives
// what it was told; rank 1 must hear of the same in its next call.  If rank 0's call was a barrier,
// rank 1 on another host may still complete that one: rank 0 had entered it.
std::string told(stretto_status expected, const Call &call) {
    const test::With timeout("STRETTO_TIMEOUT", "0");
    std::string first;
    std::atomic<bool> over{false};
    test::with_ranks(2, [&](stretto_comm comm) {
        if (stretto_rank(comm) == 0) {
            CHECK(call(comm) == expected);
            first = stretto_last_error();
            over = true;
            CHECK(stretto_barrier(comm) == STRETTO_ERR_REVOKED);
            return;
        }
        while (!over)
            std::this_thread::yield();
        stretto_status heard = stretto_barrier(comm);
        if (heard == STRETTO_OK && test::across_hosts())
            heard = stretto_barrier(comm);
        CHECK(heard == expected);
        CHECK(test::contains(stretto_last_error(), "rank 0"));
    });
    return first;
}

std::int64_t in[3000], out[6000];

stretto_status receive(stretto_comm comm) {
    return stretto_recv(comm, out, 1, STRETTO_INT64, 1, 3, nullptr);
}

const std::vector<std::pair<const char *, Call>> &blocking() {
    static const std::vector<std::pair<const char *, Call>> calls = {
        {"allreduce",
         [](stretto_comm comm) {
             return stretto_allreduce(comm, in, out, 3, STRETTO_INT64, STRETTO_SUM);
         }},
        {"barrier", [](stretto_comm comm) { return stretto_barrier(comm); }},
        {"alltoallv",
         [](stretto_comm comm) {
             const std::size_t counts[] = {1, 1000};
             return stretto_alltoallv(comm, in, counts, nullptr, out, counts, nullptr,
                                      STRETTO_INT64);
         }},
        {"recv", receive},
        {"send",
         [](stretto_comm comm) { return stretto_send(comm, in, 3000, STRETTO_INT64, 1, 3); }},
        {"probe", [](stretto_comm comm) { return stretto_probe(comm, 1, 3, nullptr); }},
    };
    return calls;
}

void check_text(const std::string &text) {
    CHECK(test::contains(text, "has not ended within 0.1 s, the limit of this call"));
    CHECK(test::contains(text, "rank 0"));
    CHECK(test::contains(text, "rank 1"));
}

} // namespace

TEST_CASE("a communicator's limit ends every blocking call") {
    for (const auto &[name, call] : blocking()) {
        CAPTURE(name);
        check_text(told(STRETTO_ERR_TIMEOUT, [&, &call = call](stretto_comm comm) {
            test::check(stretto_set_timeout(comm, 0.1));
            return call(comm);
        }));
    }
}

TEST_CASE("a thread's limit is in place of the communicator's") {
    check_text(told(STRETTO_ERR_TIMEOUT, [](stretto_comm comm) {
        test::check(stretto_set_timeout(comm, 1e6));
        test::check(stretto_set_thread_timeout(0.1));
        const stretto_status status = stretto_barrier(comm);
        test::check(stretto_set_thread_timeout(0));
        return status;
    }));
}

TEST_CASE("requests have limits, by which they are waited for or tested") {
    using Start = std::function<stretto_status(stretto_comm, stretto_request *)>;
    const std::vector<std::pair<const char *, Start>> starts = {
        {"iallreduce",
         [](stretto_comm comm, stretto_request *request) {
             return stretto_iallreduce(comm, in, out, 3, STRETTO_INT64, STRETTO_SUM, request);
         }},
        {"persistent",
         [](stretto_comm comm, stretto_request *request) {
             test::check(
                 stretto_allreduce_init(comm, in, out, 3, STRETTO_INT64, STRETTO_SUM, request));
             return stretto_start(*request);
         }},
        {"irecv",
         [](stretto_comm comm, stretto_request *request) {
             return stretto_irecv(comm, out, 1, STRETTO_INT64, 1, 3, nullptr, request);
         }},
    };
    enum class How { wait_for, wait, test };
    for (const auto &[name, start] : starts)
        for (const How how : {How::wait_for, How::wait, How::test}) {
            CAPTURE(name);
            CAPTURE(static_cast<int>(how));
            check_text(told(STRETTO_ERR_TIMEOUT, [&, &begin = start](stretto_comm comm) {
                stretto_request request = nullptr;
                test::check(begin(comm, &request));
                if (how == How::wait_for)
                    return stretto_wait_for(&request, 0.1);
                test::check(stretto_set_timeout(comm, 0.1));
                if (how == How::wait)
                    return stretto_wait(&request);
                stretto_status status = STRETTO_OK;
                for (int done = 0; status == STRETTO_OK && done == 0;)
                    status = stretto_test(&request, &done);
                return status;
            }));
        }
}

TEST_CASE("a call that ends in time has no error of a limit") {
    test::with_ranks(3, [](stretto_comm comm) {
        test::check(stretto_set_timeout(comm, 100));
        for (int call = 0; call < 100; ++call) {
            std::int64_t value = call + stretto_rank(comm);
            test::check(
                stretto_allreduce(comm, STRETTO_IN_PLACE, &value, 1, STRETTO_INT64, STRETTO_SUM));
            CHECK(value == 3 * call + 3);
            stretto_request request = nullptr;
            test::check(stretto_ibarrier(comm, &request));
            test::check(stretto_wait_for(&request, 100));
        }
    });
}

TEST_CASE("an interrupt ends every call, and the others get an error") {
    auto calls = blocking();
    calls.emplace_back("wait", [](stretto_comm comm) {
        stretto_request request = nullptr;
        test::check(stretto_iallreduce(comm, in, out, 3, STRETTO_INT64, STRETTO_SUM, &request));
        return stretto_wait(&request);
    });
    calls.emplace_back("split", [](stretto_comm comm) {
        stretto_comm child = nullptr;
        return stretto_comm_split(comm, 0, 0, &child);
    });
    for (const auto &[name, call] : calls) {
        CAPTURE(name);
        const std::string text =
            told(STRETTO_ERR_INTERRUPTED, [&, &made = call](stretto_comm comm) {
                int asked = 0; // it goes on twice
                stretto_set_interrupt(
                    [](void *times) { return ++*static_cast<int *>(times) > 2 ? 1 : 0; }, &asked);
                const stretto_status status = made(comm);
                stretto_set_interrupt(nullptr, nullptr);
                CHECK(asked == 3);
                return status;
            });
        CHECK(test::contains(text, "rank 0 was interrupted"));
    }
}

TEST_CASE("an interrupt that uses another communicator leaves the call its limit") {
    struct Other {
        stretto_comm comm = nullptr;
        int calls = 0;
    };
    check_text(told(STRETTO_ERR_TIMEOUT, [](stretto_comm comm) {
        Other other;
        test::check(stretto_init_explicit(0, 1, test::fresh_job().c_str(), &other.comm));
        test::check(stretto_set_timeout(comm, 0.1));
        stretto_set_interrupt(
            [](void *context) {
                auto &used = *static_cast<Other *>(context);
                constexpr int kEnough = 100; // without a limit nothing else would end the call
                return stretto_barrier(used.comm) != STRETTO_OK || ++used.calls > kEnough ? 1 : 0;
            },
            &other);
        const stretto_status status = stretto_barrier(comm);
        stretto_set_interrupt(nullptr, nullptr);
        CHECK(other.calls > 0);
        test::check(stretto_finalize(&other.comm));
        return status;
    }));
}

// A rank that is interrupted before it has met another one has nobody to tell, so it waits until
// the other has been asked several times whether it is to stop.
TEST_CASE("an interrupt ends the start, and the others get an error") {
    const test::With timeout("STRETTO_INIT_TIMEOUT", "0");
    for (const int interrupted : {0, 1}) {
        const std::string job = test::fresh_job();
        std::atomic<int> asked{0}; // the other one
        test::on_threads(3, [&](int rank) {
            if (rank == 2)
                return; // does not come
            if (rank == interrupted)
                stretto_set_interrupt(
                    [](void *times) { return *static_cast<std::atomic<int> *>(times) > 9 ? 1 : 0; },
                    &asked);
            else
                stretto_set_interrupt(
                    [](void *times) {
                        ++*static_cast<std::atomic<int> *>(times);
                        return 0;
                    },
                    &asked);
            stretto_comm comm = nullptr;
            CHECK(stretto_init_explicit(rank, 3, job.c_str(), &comm) == STRETTO_ERR_INTERRUPTED);
            CHECK(comm == nullptr);
            CHECK(test::contains(stretto_last_error(),
                                 "rank " + std::to_string(interrupted) + " was interrupted"));
            stretto_set_interrupt(nullptr, nullptr);
        });
    }
}
