// SPDX-License-Identifier: BSD-3-Clause
// What a call costs, counted: copies, messages, allocations, system calls.
#include "doctest.h"

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <new>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/world.hpp"

using test::check;

static std::atomic<std::size_t> allocations{0};
static std::atomic<std::ptrdiff_t> live_bytes{0};

// Not inlined: GCC would see only one half of a pair, and warn.
[[gnu::noinline]] void *operator new(std::size_t bytes) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void *memory = std::malloc(bytes)) {
        live_bytes += static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
        return memory;
    }
    throw std::bad_alloc();
}
// As std::stable_sort allocates.
[[gnu::noinline]] void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
    try {
        return operator new(bytes);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
[[gnu::noinline]] void operator delete(void *memory) noexcept {
    live_bytes -= static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept {
    live_bytes -= static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
    std::free(memory);
}

static stretto_stat stat_of(stretto_comm comm, const std::string &collective) {
    std::vector<stretto_stat> lines(32);
    std::size_t count = 0;
    check(stretto_stats(comm, lines.data(), lines.size(), &count));
    for (std::size_t i = 0; i < count; ++i)
        if (lines[i].collective == collective)
            return lines[i];
    throw std::runtime_error("no statistics of " + collective);
}

TEST_CASE("messages and copies are those of the algorithms, no more") {
    constexpr std::size_t kCount = 1 << 16; // of 4 bytes: P divides it at 4
    test::with_ranks(4, [&](stretto_comm comm) {
        std::vector<float> send(kCount, 1), recv(kCount);
        const std::size_t bytes = kCount * 4;
        const auto run = [&](const char *algorithm) {
            check(stretto_force_algorithm(comm, algorithm));
            check(stretto_stats_reset(comm));
            check(stretto_allreduce(comm, send.data(), recv.data(), kCount, STRETTO_FLOAT32,
                                    STRETTO_SUM));
            return stat_of(comm, "allreduce");
        };
        // One cell of the whole vector, read by three; one n-ary pass over four operands.
        const stretto_stat one = run("one_shot");
        CHECK(one.bytes_copied == bytes);
        CHECK(one.bytes_reduced == 4 * bytes);
        // Three quarters go out unreduced, the own quarter reduced: the vector once in all.
        const stretto_stat direct = run("direct");
        CHECK(direct.bytes_copied == bytes);
        CHECK(direct.bytes_reduced == bytes);
        CHECK(direct.messages == 6); // a quarter is one slice; the result has three readers
        // 2(P-1) blocks sent, P-1 pairwise reductions.
        const stretto_stat ring = run("ring");
        CHECK(ring.bytes_copied == 6 * bytes / 4);
        CHECK(ring.bytes_reduced == 3 * 2 * bytes / 4);
        CHECK(ring.messages == 6);
    });
}

TEST_CASE("a repeated call allocates nothing") {
    test::with_ranks(3, [&](stretto_comm comm) {
        std::vector<double> send(20'000, 1), recv(20'000);
        for (const std::size_t count : {std::size_t{1}, std::size_t{700}, send.size()}) {
            const auto call = [&] {
                check(stretto_allreduce(comm, send.data(), recv.data(), count, STRETTO_FLOAT64,
                                        STRETTO_SUM));
            };
            for (int i = 0; i < 3; ++i)
                call();
            check(stretto_barrier(comm));
            const std::size_t before = allocations.load();
            for (int i = 0; i < 50; ++i)
                call();
            const std::size_t after = allocations.load();
            check(stretto_barrier(comm)); // nobody goes on, and allocates, before all have counted
            CHECK(after == before);
        }
    });
}

// Sanitizers allocate and call the system on their own account.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static std::atomic<int> trapped{0};

// Lets only what the test itself needs through; everything else is counted and answered with EPERM.
static void count_system_calls() {
    struct sigaction action = {};
    action.sa_handler = [](int) { trapped.fetch_add(1); };
    sigaction(SIGSYS, &action, nullptr);
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), // the number
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

TEST_CASE("a small allreduce makes no system call while its peers are awake") {
    if (std::thread::hardware_concurrency() < 2)
        return;                             // ranks that share a core must yield
    setenv("STRETTO_SPIN", "100000000", 1); // so that another process on the core proves nothing
    std::vector<pid_t> children;
    const std::string job = test::fresh_job();
    for (int rank = 0; rank < 2; ++rank) {
        children.push_back(fork());
        if (children.back() != 0)
            continue;
        stretto_comm comm = nullptr;
        if (stretto_init_explicit(rank, 2, job.c_str(), &comm) != STRETTO_OK)
            _exit(100);
        float x = 1, y = 0;
        for (int i = 0; i < 100; ++i)
            stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM);
        count_system_calls();
        for (int i = 0; i < 10'000; ++i)
            if (stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM) != STRETTO_OK)
                _exit(101);
        _exit(trapped.load() == 0 && y == 2 ? 0 : 1);
    }
    unsetenv("STRETTO_SPIN");
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
}

#endif

TEST_CASE("waiting for a late rank costs next to no processor time") {
    test::with_ranks(3, [&](stretto_comm comm) {
        float x = 1, y;
        if (stretto_rank(comm) == 2)
            sleep(2);
        rusage before{}, after{};
        getrusage(RUSAGE_THREAD, &before);
        check(stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM));
        getrusage(RUSAGE_THREAD, &after);
        const auto microseconds = [](const timeval &t) { return t.tv_sec * 1'000'000 + t.tv_usec; };
        const long used = microseconds(after.ru_utime) + microseconds(after.ru_stime) -
                          microseconds(before.ru_utime) - microseconds(before.ru_stime);
        CHECK(used < 100'000); // of two seconds
    });
}

TEST_CASE("calls that never repeat do not fill the memory with plans, and lose no statistics") {
    constexpr std::size_t kCalls = 600, kLargest = 30'000;
    constexpr int kRanks = 3;
    setenv("STRETTO_PLAN_BYTES", "64K", 1);
    std::ptrdiff_t most = 0;
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        check(stretto_force_algorithm(comm, "segmented_ring"));
        std::vector<std::int64_t> buffer(kLargest);
        for (std::size_t i = 0; i < kCalls; ++i) {
            const std::size_t count = kLargest - 17 * i;
            for (std::size_t k = 0; k < count; ++k)
                buffer[k] = static_cast<std::int64_t>(i + k) * (rank + 1);
            if (i % 7 == 0) { // others in flight keep their plans
                stretto_request request = nullptr;
                check(stretto_iallreduce(comm, STRETTO_IN_PLACE, buffer.data(), count,
                                         STRETTO_INT64, STRETTO_SUM, &request));
                std::int64_t one = 1;
                check(
                    stretto_allreduce(comm, STRETTO_IN_PLACE, &one, 1, STRETTO_INT64, STRETTO_SUM));
                CHECK(one == kRanks);
                check(stretto_wait(&request));
            } else {
                check(stretto_allreduce(comm, STRETTO_IN_PLACE, buffer.data(), count, STRETTO_INT64,
                                        STRETTO_SUM));
            }
            std::size_t wrong = 0;
            for (std::size_t k = 0; k < count; ++k)
                wrong += buffer[k] != static_cast<std::int64_t>(i + k) * 6;
            CHECK(wrong == 0);
            if (rank == 0)
                most = std::max(most, live_bytes.load());
        }
        CHECK(stat_of(comm, "allreduce").calls == kCalls + (kCalls + 6) / 7);
    });
    unsetenv("STRETTO_PLAN_BYTES");
    MESSAGE("most bytes live: ", most);
    CHECK(most < 2 << 20);
}
