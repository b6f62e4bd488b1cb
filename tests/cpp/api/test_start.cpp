// SPDX-License-Identifier: BSD-3-Clause
// Ranks that start slowly, are interrupted, or lack what the start takes.
#include "doctest.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

#include "support/environment.hpp"
#include "support/processes.hpp"
#include "support/text.hpp"

using test::contains;
using test::With;

// How long this process is held up after a connection to another rank of its host, in microseconds.
static unsigned held_up = 0;

// Stands before that of libc, in libstretto as well.
extern "C" int connect(int socket, const sockaddr *address, socklen_t length) {
    const long result = syscall(SYS_connect, socket, address, length);
    if (result == 0 && address->sa_family == AF_UNIX && held_up != 0)
        for (unsigned tenths = 0; tenths < held_up / 100'000; ++tenths)
            usleep(100'000);
    return static_cast<int>(result);
}

namespace {

constexpr int kRight = 7, kWrong = 8; // exit codes

// Runs in a child, where doctest does not.
int wrong(int rank) {
    std::fprintf(stderr, "rank %d: %s\n", rank, stretto_last_error());
    return kWrong;
}

// A signal every so many microseconds, none of which is to restart a system call.
void interrupt_every(suseconds_t microseconds) {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, nullptr);
    const itimerval timer{{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, nullptr);
}

// Where ranks meet that are to share no memory; nothing: they are on one host.
struct Hosts {
    explicit Hosts(bool several = true) {
        if (!several)
            return;
        addr = std::make_unique<With>("STRETTO_ADDR", "127.0.0.1:29471");
        hosts = std::make_unique<With>("STRETTO_FAKE_HOSTS", "a,b");
        secret = std::make_unique<With>("STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123");
    }
    std::unique_ptr<With> addr, hosts, secret;
};

} // namespace

TEST_CASE("timer signals interrupt neither the start nor the making of communicators") {
    for (const bool several : {false, true}) {
        CAPTURE(several);
        const Hosts hosts(several);
        const std::string job = test::fresh_job();
        const auto codes = test::on_bare_processes(4, [&](int rank) {
            interrupt_every(1000);
            stretto_comm comm = nullptr;
            if (stretto_init_explicit(rank, 4, job.c_str(), &comm) != STRETTO_OK)
                return wrong(rank);
            for (int round = 0; round < 10; ++round) {
                stretto_comm half = nullptr;
                long mine = rank + round, sum = 0;
                if (stretto_comm_split(comm, rank % 2, rank, &half) != STRETTO_OK ||
                    stretto_allreduce(half, &mine, &sum, 1, STRETTO_INT64, STRETTO_SUM) !=
                        STRETTO_OK ||
                    sum != 2 * round + 2 * (rank % 2) + 2 || stretto_finalize(&half) != STRETTO_OK)
                    return wrong(rank);
            }
            return stretto_finalize(&comm) == STRETTO_OK ? kRight : wrong(rank);
        });
        CHECK(codes == std::vector<int>(4, kRight));
    }
}

TEST_CASE("a rank that is held up between its call and its greeting is waited for") {
    for (const bool several : {false, true}) {
        CAPTURE(several);
        const Hosts hosts(several);
        const std::string job = test::fresh_job();
        const auto codes = test::on_bare_processes(4, [&](int rank) {
            held_up = rank == 2 ? 1'500'000 : rank == 3 ? 1'200'000 : 0;
            stretto_comm comm = nullptr;
            if (stretto_init_explicit(rank, 4, job.c_str(), &comm) != STRETTO_OK)
                return wrong(rank);
            return stretto_finalize(&comm) == STRETTO_OK ? kRight : wrong(rank);
        });
        CHECK(codes == std::vector<int>(4, kRight));
    }
}

TEST_CASE("a founder without free descriptors reports it to all ranks") {
    constexpr int kRanks = 24;
    const std::string job = test::fresh_job();
    const auto codes = test::on_bare_processes(kRanks, [&](int rank) {
        if (rank == 0) {
            struct rlimit few{};
            getrlimit(RLIMIT_NOFILE, &few);
            few.rlim_cur = static_cast<rlim_t>(open("/dev/null", O_RDONLY)) + 8;
            setrlimit(RLIMIT_NOFILE, &few);
        }
        stretto_comm comm = nullptr;
        const stretto_status status = stretto_init_explicit(rank, kRanks, job.c_str(), &comm);
        return status == STRETTO_ERR_SYSTEM && contains(stretto_last_error(), "rank 0 on ") &&
                       contains(stretto_last_error(), "ulimit -n")
                   ? kRight
                   : wrong(rank);
    });
    CHECK(codes == std::vector<int>(kRanks, kRight));
}

TEST_CASE("the rank that knows it names a rank that has not reported") {
    const With limit("STRETTO_INIT_TIMEOUT", "1");
    const std::string job = test::fresh_job();
    const auto codes = test::on_bare_processes(3, [&](int rank) {
        if (rank == 1)
            return kRight; // never starts
        stretto_comm comm = nullptr;
        const stretto_status status = stretto_init_explicit(rank, 3, job.c_str(), &comm);
        return status == STRETTO_ERR_TIMEOUT &&
                       contains(stretto_last_error(), "nothing was heard of rank(s) 1 of job")
                   ? kRight
                   : wrong(rank);
    });
    CHECK(codes == std::vector<int>(3, kRight));
}

TEST_CASE("ranks of several hosts listen in the range of ports that they are given") {
    const Hosts hosts;
    const auto start = [](int ranks, const std::function<bool(stretto_status)> &right) {
        const std::string job = test::fresh_job();
        return test::on_bare_processes(ranks, [&, job](int rank) {
            stretto_comm comm = nullptr;
            const stretto_status status = stretto_init_explicit(rank, ranks, job.c_str(), &comm);
            if (!right(status))
                return wrong(rank);
            return comm == nullptr || stretto_finalize(&comm) == STRETTO_OK ? kRight : wrong(rank);
        });
    };
    const auto joined = [](stretto_status status) { return status == STRETTO_OK; };
    {
        // Four of five: the fifth is that of STRETTO_ADDR.
        const With ports("STRETTO_PORTS", "29471-29475");
        CHECK(start(4, joined) == std::vector<int>(4, kRight));
    }
    {
        // One too few: who has none tells the others.
        const With ports("STRETTO_PORTS", "29472-29473");
        CHECK(start(3, [](stretto_status status) {
                  return status == STRETTO_ERR_SYSTEM &&
                         contains(stretto_last_error(), "STRETTO_PORTS=29472-29473 is free");
              }) == std::vector<int>(3, kRight));
    }
    const With ports("STRETTO_PORTS", "29473-29472");
    CHECK(start(2, [](stretto_status status) {
              return status == STRETTO_ERR_ARGUMENT &&
                     contains(stretto_last_error(), "STRETTO_PORTS is '29473-29472'");
          }) == std::vector<int>(2, kRight));
}

TEST_CASE("rank 0 reports to the others that another process has its port") {
    const Hosts hosts;
    const int other = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(29471);
    const int on = 1;
    setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    REQUIRE(bind(other, reinterpret_cast<const sockaddr *>(&any), sizeof any) == 0);
    REQUIRE(listen(other, 8) == 0); // and never says anything
    const std::string job = test::fresh_job();
    const auto codes = test::on_bare_processes(3, [&](int rank) {
        stretto_comm comm = nullptr;
        const stretto_status status = stretto_init_explicit(rank, 3, job.c_str(), &comm);
        return status == STRETTO_ERR_SYSTEM &&
                       contains(stretto_last_error(), "cannot listen at [::]:29471")
                   ? kRight
                   : wrong(rank);
    });
    close(other);
    CHECK(codes == std::vector<int>(3, kRight));
}

TEST_CASE("ranks that are to share no memory need an address") {
    const With hosts("STRETTO_FAKE_HOSTS", "a,b");
    stretto_comm comm = nullptr;
    CHECK(stretto_init_explicit(0, 2, test::fresh_job().c_str(), &comm) == STRETTO_ERR_ARGUMENT);
    CHECK(contains(stretto_last_error(), "STRETTO_FAKE_HOSTS is 'a,b'"));
    CHECK(contains(stretto_last_error(), "STRETTO_ADDR"));
    CHECK(stretto_init_explicit(0, 1, test::fresh_job().c_str(), &comm) == STRETTO_OK);
    CHECK(stretto_finalize(&comm) == STRETTO_OK);
}

TEST_CASE("a name that does not resolve is looked up until the limit") {
    const Hosts hosts;
    const With addr("STRETTO_ADDR", "no-such-host.invalid:29471"),
        limit("STRETTO_INIT_TIMEOUT", "1");
    stretto_comm comm = nullptr;
    CHECK(stretto_init_explicit(1, 2, test::fresh_job().c_str(), &comm) == STRETTO_ERR_TIMEOUT);
    CHECK(contains(stretto_last_error(), "knows no address of rank 0 after 1 s"));
    CHECK(contains(stretto_last_error(), "no-such-host.invalid"));
}
