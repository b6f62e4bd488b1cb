// SPDX-License-Identifier: BSD-3-Clause
// Jobs on several hosts of which a rank dies, falls silent, computes for long or leaves early: who
// lives learns of it, whether or not it ever talks to that rank, and of nothing else.
#include "doctest.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "support/environment.hpp"
#include "support/processes.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"
#include "support/threads.hpp"

namespace {

constexpr int kTold = 7; // exit codes: the right error
constexpr int kWrong = 8;
constexpr int kFine = 0;

using test::contains;
using test::SharedCounter;
using test::With;

// What a job on three hosts of this machine needs; ranks 0 and 3 share one.
struct Hosts {
    With addr{"STRETTO_ADDR", "127.0.0.1:29431"};
    With hosts{"STRETTO_FAKE_HOSTS", "a,b,c"};
    With secret{"STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123"};
};

// The exit code of a rank that expects an error of a peer with all of `parts` in the message.
int told(stretto_comm comm, stretto_status status, const std::vector<std::string> &parts) {
    const std::string message = stretto_last_error();
    bool right = status == STRETTO_ERR_PEER;
    for (const std::string &part : parts)
        right = right && contains(message, part);
    if (!right)
        std::fprintf(stderr, "rank %d: %s: %s\n", stretto_rank(comm), stretto_status_name(status),
                     message.c_str());
    return stretto_finalize(&comm) == STRETTO_OK && right ? kTold : kWrong;
}

int barrier_until_told(stretto_comm comm, const std::vector<std::string> &parts) {
    stretto_status status = STRETTO_OK;
    while (status == STRETTO_OK)
        status = stretto_barrier(comm);
    return told(comm, status, parts);
}

// Waits for a message that nobody sends: of all that happens elsewhere, this rank hears by control
// alone.
int receive_until_told(stretto_comm comm, int from, const std::vector<std::string> &parts) {
    int value = 0;
    const stretto_status status = stretto_recv(comm, &value, 1, STRETTO_INT32, from, 5, nullptr);
    return told(comm, status, parts);
}

void await_end(pid_t process) {
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT);
}

} // namespace

TEST_CASE("a killed rank is named in the errors of ranks that never communicate with it") {
    const Hosts hosts;
    SharedCounter ready;
    constexpr int kVictim = 2;
    const auto codes = test::on_processes(
        5,
        [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            ++*ready;
            if (rank == kVictim)
                pause();
            // 0 and 3 wait for each other, 1 and 4 likewise.
            constexpr int kPartner[] = {3, 4, 2, 0, 1};
            return receive_until_told(comm, kPartner[rank], {"rank 2 has died (c, 127.0.0.1)"});
        },
        [&](const std::vector<pid_t> &processes) {
            ready.await(5);
            kill(processes[kVictim], SIGKILL);
        });
    CHECK(codes == std::vector<int>{kTold, kTold, -SIGKILL, kTold, kTold});
}

TEST_CASE("a rank that is killed in the middle of a collective is named with its host") {
    const Hosts hosts;
    for (const char *algorithm : {"ring", "chain"}) {
        CAPTURE(algorithm);
        const With forced("STRETTO_ALGORITHM", algorithm);
        SharedCounter calls;
        const auto codes = test::on_processes(
            5,
            [&](stretto_comm comm) {
                std::vector<float> send(100'000, 1), recv(send.size());
                stretto_status status = STRETTO_OK;
                for (; status == STRETTO_OK; ++*calls)
                    status = stretto_allreduce(comm, send.data(), recv.data(), send.size(),
                                               STRETTO_FLOAT32, STRETTO_SUM);
                return told(comm, status, {"rank 2 has died (c, 127.0.0.1)"});
            },
            [&](const std::vector<pid_t> &processes) {
                calls.await(20);
                kill(processes[2], SIGKILL);
            });
        CHECK(codes == std::vector<int>{kTold, kTold, -SIGKILL, kTold, kTold});
    }
}

TEST_CASE("a silent rank is named in all errors, and gets its own when it comes back") {
    const Hosts hosts;
    const With silence("STRETTO_PEER_TIMEOUT", "1.5");
    SharedCounter ready;
    constexpr int kVictim = 1;
    const auto codes = test::on_processes(
        4,
        [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            ++*ready;
            if (rank == kVictim)
                return barrier_until_told(comm, {"rank "});
            return receive_until_told(comm, (rank + 2) % 4,
                                      {"rank 1 has sent nothing for 1.5 s (b, 127.0.0.1)"});
        },
        [&](const std::vector<pid_t> &processes) {
            ready.await(4);
            kill(processes[kVictim], SIGSTOP);
            for (const std::size_t rank : {0, 2, 3})
                await_end(processes[rank]);
            kill(processes[kVictim], SIGCONT);
        });
    CHECK(codes == std::vector<int>(4, kTold));
}

TEST_CASE("a rank that computes for long is not taken for dead") {
    const Hosts hosts;
    const With silence("STRETTO_PEER_TIMEOUT", "2");
    const auto codes = test::on_processes(3, [&](stretto_comm comm) {
        if (stretto_rank(comm) == 1) {
            const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(4);
            while (std::chrono::steady_clock::now() < until) {
            }
        }
        int mine = 1, sum = 0;
        const stretto_status status =
            stretto_allreduce(comm, &mine, &sum, 1, STRETTO_INT32, STRETTO_SUM);
        if (status != STRETTO_OK)
            std::fprintf(stderr, "%s\n", stretto_last_error());
        return stretto_finalize(&comm) == STRETTO_OK && status == STRETTO_OK && sum == 3 ? kFine
                                                                                         : kWrong;
    });
    CHECK(codes == std::vector<int>(3, kFine));
}

TEST_CASE("a rank that leaves in order harms no other") {
    const Hosts hosts;
    SharedCounter left;
    const auto codes = test::on_processes(
        4,
        [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            if (stretto_barrier(comm) != STRETTO_OK)
                return kWrong;
            if (rank == 3)
                return stretto_finalize(&comm) == STRETTO_OK ? kFine : kWrong;
            left.await(1);
            // The others still work, as long as heartbeats take to find out.
            for (int round = 0; round < 300; ++round) {
                int value = rank;
                const int next = (rank + 1) % 3, previous = (rank + 2) % 3;
                stretto_request request = nullptr;
                if (stretto_isend(comm, &rank, 1, STRETTO_INT32, next, 0, &request) != STRETTO_OK ||
                    stretto_recv(comm, &value, 1, STRETTO_INT32, previous, 0, nullptr) !=
                        STRETTO_OK ||
                    stretto_wait(&request) != STRETTO_OK || value != previous) {
                    std::fprintf(stderr, "rank %d: %s\n", rank, stretto_last_error());
                    return kWrong;
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(3));
            }
            return stretto_finalize(&comm) == STRETTO_OK ? kFine : kWrong;
        },
        [&](const std::vector<pid_t> &processes) {
            await_end(processes[3]);
            ++*left;
        });
    CHECK(codes == std::vector<int>(4, kFine));
}

TEST_CASE("a failure reaches ranks that are in no call") {
    const Hosts hosts;
    const With timeout("STRETTO_TIMEOUT", "1");
    SharedCounter failed;
    const auto codes = test::on_processes(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        int value = 0;
        if (rank == 0) { // nobody else is in this call
            const stretto_status status = stretto_barrier(comm);
            const bool right = status == STRETTO_ERR_TIMEOUT &&
                               contains(stretto_last_error(), "ranks 1, 2 have not come");
            ++*failed;
            return stretto_finalize(&comm) == STRETTO_OK && right ? kTold : kWrong;
        }
        failed.await(1);
        const stretto_status status =
            stretto_recv(comm, &value, 1, STRETTO_INT32, 3 - rank, 0, nullptr);
        const bool right = status == STRETTO_ERR_TIMEOUT &&
                           contains(stretto_last_error(), "ranks 1, 2 have not come");
        if (!right)
            std::fprintf(stderr, "rank %d: %s: %s\n", rank, stretto_status_name(status),
                         stretto_last_error());
        return stretto_finalize(&comm) == STRETTO_OK && right ? kTold : kWrong;
    });
    CHECK(codes == std::vector<int>(3, kTold));
}

TEST_CASE("a rank that has done its part and computes does not count as missing") {
    const Hosts hosts;
    const With timeout("STRETTO_TIMEOUT", "3");
    const With forced("STRETTO_ALGORITHM", "chain"); // from 0 by way of 1 to 2
    SharedCounter over;
    const auto codes = test::on_processes(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        int value = 1;
        stretto_status status = STRETTO_OK;
        if (rank != 1)
            status = stretto_broadcast(comm, &value, 1, STRETTO_INT32, 0);
        bool right = status == STRETTO_OK;
        if (rank == 2) {
            right = status == STRETTO_ERR_TIMEOUT &&
                    contains(stretto_last_error(), "; rank 1 has not come");
            if (!right)
                std::fprintf(stderr, "%s\n", stretto_last_error());
            ++*over;
        }
        over.await(1);
        return stretto_finalize(&comm) == STRETTO_OK && right ? kFine : kWrong;
    });
    CHECK(codes == std::vector<int>(3, kFine));
}

#if !defined(__SANITIZE_THREAD__) // which has threads of its own
TEST_CASE("a job on one host has no threads of its own") {
    const auto codes = test::on_processes(2, [&](stretto_comm comm) {
        return stretto_barrier(comm) == STRETTO_OK && test::threads().size() == 1 ? kFine : kWrong;
    });
    CHECK(codes == std::vector<int>(2, kFine));
    const With addr("STRETTO_ADDR", "127.0.0.1:29432");
    const With secret("STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123");
    const auto met_by_address = test::on_processes(2, [&](stretto_comm comm) {
        // That of the meeting place at rank 0 ends by itself.
        while (test::threads().size() != 1)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return stretto_barrier(comm) == STRETTO_OK ? kFine : kWrong;
    });
    CHECK(met_by_address == std::vector<int>(2, kFine));
}
#endif
