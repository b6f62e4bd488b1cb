// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are killed, stopped, late or at odds, in every collective: each of the others ends
// with the right error, which names the offender.
#include "doctest.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "support/calls.hpp"
#include "support/environment.hpp"
#include "support/processes.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

namespace {

constexpr int kTold = 7; // exit codes: the right error
constexpr int kWrong = 8;
constexpr int kEndless = 9;
constexpr int kEnough = 40; // calls of all ranks together after which one is killed

using test::contains;
using test::SharedCounter;
using test::With;

// Calls until something fails; the exit code of a rank that expects that, with `part` in the
// message.
int until_told(stretto_comm comm, const test::CallKind &kind, std::size_t count,
               stretto_status expected, const std::string &part, std::atomic<int> &calls) {
    const std::size_t size = static_cast<std::size_t>(stretto_size(comm));
    std::vector<float> send(size * count, 1), recv(size * count);
    for (int call = 0; call < 3'000'000; ++call) {
        const stretto_status status = kind.call(comm, {.send = send.data(),
                                                       .recv = recv.data(),
                                                       .count = count,
                                                       .dtype = STRETTO_FLOAT32,
                                                       .op = STRETTO_SUM,
                                                       .root = 1});
        if (status == STRETTO_OK) {
            calls.fetch_add(1);
            continue;
        }
        calls.fetch_add(kEnough); // nobody need wait for more
        const bool right = status == expected && contains(stretto_last_error(), part);
        if (!right)
            std::fprintf(stderr, "rank %d: %s: %s\n", stretto_rank(comm),
                         stretto_status_name(status), stretto_last_error());
        return stretto_finalize(&comm) == STRETTO_OK && right ? kTold : kWrong;
    }
    return kEndless;
}

// Descriptors of this process.
std::size_t descriptors() {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(open), end(open)));
}

} // namespace

TEST_CASE("a rank killed in the middle of any collective is named to all others") {
    constexpr int kVictim = 2;
    for (const test::CallKind &kind : test::call_kinds())
        for (const std::size_t count :
             {std::size_t{1}, std::size_t{20'000}, std::size_t{300'000}}) {
            if (!kind.has_count && count > 1)
                continue;
            CAPTURE(kind.name);
            CAPTURE(count);
            SharedCounter calls;
            const auto codes = test::on_processes(
                4,
                [&](stretto_comm comm) {
                    return until_told(comm, kind, count, STRETTO_ERR_PEER, "rank 2 has died",
                                      *calls);
                },
                [&](const std::vector<pid_t> &processes) {
                    // While all are busy with calls.
                    while ((*calls).load() < kEnough)
                        std::this_thread::yield();
                    kill(processes[kVictim], SIGKILL);
                });
            CHECK(codes == std::vector<int>{kTold, kTold, -SIGKILL, kTold});
        }
}

TEST_CASE("a rank that is stopped in the middle of any collective is named, and what it is in") {
    const With timeout("STRETTO_TIMEOUT", "2");
    constexpr int kVictim = 1;
    int tried = 0;
    for (const test::CallKind &kind : test::call_kinds()) {
        if (tried++ >= 1 && !test::full_tier()) // each takes as long as the deadline
            break;
        CAPTURE(kind.name);
        SharedCounter calls;
        const auto codes = test::on_processes(
            3,
            [&](stretto_comm comm) {
                if (stretto_rank(comm) == kVictim) {
                    (void)until_told(comm, kind, 1000, STRETTO_ERR_TIMEOUT, "rank 1", *calls);
                    return kTold; // thawed: the communicator has failed, whatever it is told first
                }
                return until_told(comm, kind, 1000, STRETTO_ERR_TIMEOUT,
                                  "of rank 1 is stopped (by a signal or a debugger)", *calls);
            },
            [&](const std::vector<pid_t> &processes) {
                while ((*calls).load() < kEnough)
                    std::this_thread::yield();
                kill(processes[kVictim], SIGSTOP);
                // When the others have ended it may go on.
                for (const int rank : {0, 2}) {
                    siginfo_t ended{};
                    waitid(P_PID, static_cast<id_t>(processes[static_cast<std::size_t>(rank)]),
                           &ended, WEXITED | WNOWAIT);
                }
                kill(processes[kVictim], SIGCONT);
            });
        CHECK(codes == std::vector<int>{kTold, kTold, kTold});
    }
}

TEST_CASE("a rank that refuses its own arguments is one that has not come") {
    const With timeout("STRETTO_TIMEOUT", "1");
    std::atomic<int> told{0};
    test::with_ranks(3, [&](stretto_comm comm) {
        float x = 1, y = 0;
        const bool wrong = stretto_rank(comm) == 1;
        const stretto_status status =
            stretto_allreduce(comm, wrong ? nullptr : &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM);
        CHECK(status == (wrong ? STRETTO_ERR_ARGUMENT : STRETTO_ERR_TIMEOUT));
        if (!wrong) {
            CHECK(contains(stretto_last_error(), "rank 1 has not come"));
            ++told;
        }
        while (wrong && told < 2) // else it would be one that has left
            std::this_thread::yield();
    });
}

TEST_CASE("every mismatch is an error on all ranks") {
    // Rank 1 does what stands in the second half.
    const auto kinds = test::call_kinds();
    struct Case {
        const char *what;
        test::CallKind kind, other;
        test::CallArguments mine, differing;
    };
    std::vector<Case> cases;
    test::CallArguments usual{.count = 64};
    for (const test::CallKind &kind : kinds) {
        if (kind.has_count) {
            test::CallArguments other = usual;
            other.count = 65;
            cases.push_back({"65 x float32", kind, kind, usual, other});
            other = usual;
            other.dtype = STRETTO_INT32;
            cases.push_back({"64 x int32", kind, kind, usual, other});
        }
        if (kind.reduces) {
            test::CallArguments other = usual;
            other.op = STRETTO_MAX;
            cases.push_back({"max", kind, kind, usual, other});
        }
        if (kind.rooted) {
            test::CallArguments other = usual;
            other.root = 2;
            cases.push_back({"root 2", kind, kind, usual, other});
        }
        for (const test::CallKind &other : kinds)
            if (std::string(other.name) != kind.name)
                cases.push_back({other.name, kind, other, usual, usual});
    }
    for (const Case &each : cases) {
        CAPTURE(each.kind.name);
        CAPTURE(each.what);
        test::with_ranks(3, [&](stretto_comm comm) {
            std::vector<float> send(3 * 65, 1), recv(3 * 65);
            const bool differs = stretto_rank(comm) == 1;
            test::CallArguments with = differs ? each.differing : each.mine;
            with.send = send.data();
            with.recv = recv.data();
            stretto_status status = (differs ? each.other : each.kind).call(comm, with);
            // Who needs nobody in a call learns it in the next.
            if (status == STRETTO_OK)
                status = stretto_barrier(comm);
            CHECK(status == STRETTO_ERR_MISMATCH);
            const std::string message = stretto_last_error();
            CAPTURE(message);
            CHECK(contains(message, each.what));
            CHECK(contains(message, "on rank 1"));
            CHECK(contains(message, "call 0"));
            CHECK(stretto_barrier(comm) == STRETTO_ERR_REVOKED);
        });
    }
}

TEST_CASE("a limit of file sizes is an error on all ranks, not a signal") {
    const std::string job = test::fresh_job();
    const auto codes = test::on_bare_processes(3, [&](int rank) {
        if (rank == 0) {
            const struct rlimit small{1 << 20, 1 << 20};
            setrlimit(RLIMIT_FSIZE, &small);
        }
        stretto_comm comm = nullptr;
        const stretto_status status = stretto_init_explicit(rank, 3, job.c_str(), &comm);
        return status == STRETTO_ERR_MEMORY && contains(stretto_last_error(), "ulimit -f") ? kTold
                                                                                           : kWrong;
    });
    CHECK(codes == std::vector<int>{kTold, kTold, kTold});
}

// Sanitizers reserve more than any limit of address space would leave.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("no address space on one rank is an error on all") {
    for (const int poor : {0, 1}) {
        CAPTURE(poor);
        const std::string job = test::fresh_job();
        const auto codes = test::on_bare_processes(3, [&](int rank) {
            if (rank == poor) {
                const struct rlimit small{64 << 20, 64 << 20};
                setrlimit(RLIMIT_AS, &small);
            }
            setenv("STRETTO_RING_BYTES", "16M", 1);
            stretto_comm comm = nullptr;
            const stretto_status status = stretto_init_explicit(rank, 3, job.c_str(), &comm);
            const bool right = status == STRETTO_ERR_MEMORY &&
                               (rank == poor || poor == 0 ||
                                (contains(stretto_last_error(), "rank 1 on ") &&
                                 contains(stretto_last_error(), " could not join")));
            if (!right)
                std::fprintf(stderr, "rank %d: %s: %s\n", rank, stretto_status_name(status),
                             stretto_last_error());
            return right ? kTold : kWrong;
        });
        CHECK(codes == std::vector<int>{kTold, kTold, kTold});
    }
}

TEST_CASE("no address space for the heap of another rank ends the call on all") {
    const auto codes = test::on_processes(2, [&](stretto_comm comm) {
        void *mine = nullptr;
        constexpr std::size_t kCount = 1 << 20;
        if (stretto_alloc(comm, kCount * sizeof(float), &mine) != STRETTO_OK)
            return test::kNotJoined;
        std::vector<float> result(kCount);
        if (stretto_rank(comm) == 1) { // its own heap is mapped, that of rank 0 cannot be
            const struct rlimit small{1 << 20, 1 << 20};
            setrlimit(RLIMIT_AS, &small);
        }
        const stretto_status status =
            stretto_allreduce(comm, mine, result.data(), kCount, STRETTO_FLOAT32, STRETTO_SUM);
        const bool right = status == STRETTO_ERR_MEMORY && contains(stretto_last_error(), "rank 1");
        if (!right)
            std::fprintf(stderr, "rank %d: %s: %s\n", stretto_rank(comm),
                         stretto_status_name(status), stretto_last_error());
        return stretto_finalize(&comm) == STRETTO_OK && right ? kTold : kWrong;
    });
    CHECK(codes == std::vector<int>{kTold, kTold});
}
#endif

TEST_CASE("a rank that dies while the job starts is named at once") {
    const std::string job = test::fresh_job();
    const auto codes = test::on_bare_processes(3, [&](int rank) {
        if (rank == 2) {
            // Greets rank 0 and dies: no descriptor is left for what it would be sent.
            struct rlimit few{};
            getrlimit(RLIMIT_NOFILE, &few);
            few.rlim_cur = static_cast<rlim_t>(open("/dev/null", O_RDONLY)) + 2; // the socket
            setrlimit(RLIMIT_NOFILE, &few);
        }
        stretto_comm comm = nullptr;
        const stretto_status status = stretto_init_explicit(rank, 3, job.c_str(), &comm);
        const bool right = status == STRETTO_ERR_SYSTEM || status == STRETTO_ERR_PEER;
        if (!right || (rank != 2 && !contains(stretto_last_error(), "rank 2 on ")))
            std::fprintf(stderr, "rank %d: %s: %s\n", rank, stretto_status_name(status),
                         stretto_last_error());
        return right && (rank == 2 || contains(stretto_last_error(), "rank 2 on ")) ? kTold
                                                                                    : kWrong;
    });
    CHECK(codes == std::vector<int>{kTold, kTold, kTold});
}

TEST_CASE("failures leave no descriptor behind") {
    const std::size_t before = descriptors();
    for (int round = 0; round < 3; ++round) {
        test::with_ranks(3, [](stretto_comm comm) {
            int x = 1, y;
            const stretto_op op = stretto_rank(comm) == 1 ? STRETTO_MAX : STRETTO_SUM;
            CHECK(stretto_allreduce(comm, &x, &y, 1, STRETTO_INT32, op) == STRETTO_ERR_MISMATCH);
        });
        const With timeout("STRETTO_INIT_TIMEOUT", "0.05");
        stretto_comm comm = nullptr;
        CHECK(stretto_init_explicit(0, 2, test::fresh_job().c_str(), &comm) == STRETTO_ERR_TIMEOUT);
        CHECK(stretto_init_explicit(1, 2, test::fresh_job().c_str(), &comm) == STRETTO_ERR_TIMEOUT);
    }
    CHECK(descriptors() == before);
}
