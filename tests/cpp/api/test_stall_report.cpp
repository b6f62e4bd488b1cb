// SPDX-License-Identifier: BSD-3-Clause
// At the deadline the error says who has not come and where the others wait, on one host and on
// several.
#include "doctest.h"

#include <cstdlib>
#include <functional>
#include <netinet/in.h>
#include <regex>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "support/environment.hpp"
#include "support/processes.hpp"

namespace {

constexpr int kTold = 7;

// A port that is free now.
int free_port() {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(bind(fd, reinterpret_cast<sockaddr *>(&address), size) == 0);
    REQUIRE(getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

// All ranks; gives the status of what they wait in.
using Body = std::function<stretto_status(stretto_comm)>;

// What rank 0 is told, whose patience alone is short, without times and process ids; "" if it gets
// no timeout.
std::string told_after(const char *patience_s, int ranks, const std::string &hosts,
                       const Body &body) {
    int message[2], over[2];
    REQUIRE(pipe(message) == 0);
    REQUIRE(pipe(over) == 0);
    const std::string job = test::fresh_job();
    const std::string address = "127.0.0.1:" + std::to_string(free_port());
    std::string text;
    const auto codes = test::on_bare_processes(
        ranks,
        [&](int rank) {
            close(over[1]);
            setenv("STRETTO_TIMEOUT", rank == 0 ? patience_s : "60", 1);
            if (!hosts.empty()) {
                setenv("STRETTO_ADDR", address.c_str(), 1);
                setenv("STRETTO_FAKE_HOSTS", hosts.c_str(), 1);
                setenv("STRETTO_SECRET", "of-tests-only-0123456789abcdef-0123", 1);
            }
            stretto_comm comm = nullptr;
            if (stretto_init_explicit(rank, ranks, job.c_str(), &comm) != STRETTO_OK)
                return test::kNotJoined;
            const stretto_status status = body(comm);
            if (rank == 0 && status == STRETTO_ERR_TIMEOUT) {
                const std::string said = stretto_last_error();
                if (write(message[1], said.data(), said.size()) < 0)
                    return test::kNotJoined;
            }
            // Whoever does not come stays until all have been told, or it would be one that left.
            char nothing;
            if (status == STRETTO_OK)
                (void)!read(over[0], &nothing, 1);
            _exit(kTold);
        },
        [&](const std::vector<pid_t> &processes) {
            close(message[1]);
            char part[512];
            for (ssize_t got = 0; (got = read(message[0], part, sizeof(part))) > 0;) {
                text.append(part, static_cast<std::size_t>(got));
                // Rank 0 has been told; so will the others be.
                siginfo_t ended{};
                waitid(P_PID, static_cast<id_t>(processes[0]), &ended, WEXITED | WNOWAIT);
                close(over[1]);
                over[1] = -1;
            }
            if (over[1] >= 0)
                close(over[1]);
        });
    close(message[0]);
    close(over[0]);
    for (const int code : codes)
        CHECK(code == kTold);
    if (!hosts.empty()) // where there are several, each is named
        text = std::regex_replace(text, std::regex("^rank 0 on [^ ]+ in "), "rank 0, named, in ");
    text = std::regex_replace(text, std::regex("waited [0-9.e+]+ s"), "waited long");
    return std::regex_replace(text, std::regex("process [0-9]+"), "process");
}

// The same.  On a busy machine the others may take longer than that until they wait: then with more
// patience.
std::string told(int ranks, const std::string &hosts, const Body &body,
                 const std::string &expected) {
    const std::string text = told_after("1", ranks, hosts, body);
    return text == expected ? text : told_after("15", ranks, hosts, body);
}

// How it is called by errors.
std::string rank_0(const std::string &hosts) {
    return hosts.empty() ? "rank 0" : "rank 0, named,";
}

const std::string kRaise = "; raise STRETTO_TIMEOUT if that is not too long (0: for ever)";

stretto_status ring_without(int absent, stretto_comm comm) {
    stretto_force_algorithm(comm, "ring");
    std::vector<float> x(4, 1), y(4);
    // One call that all make, so that the next is not the first.
    if (stretto_allreduce(comm, x.data(), y.data(), 4, STRETTO_FLOAT32, STRETTO_SUM) != STRETTO_OK)
        return STRETTO_ERR_INTERNAL;
    if (stretto_rank(comm) == absent)
        return STRETTO_OK;
    return stretto_allreduce(comm, x.data(), y.data(), 4, STRETTO_FLOAT32, STRETTO_SUM);
}

// One host; two hosts.  Each takes as long as the deadline.
const std::vector<std::string> kHosts{"", "a,b,b,a"};

} // namespace

TEST_CASE("the error names the missing rank, and where each other rank waits") {
    for (const std::string &hosts : kHosts) {
        CAPTURE(hosts);
        const std::string expected =
            rank_0(hosts) +
            " in allreduce(4 x float32, sum) (call 1, ring, 4 of 28 bytes done) waited long for "
            "rank 3 in step 2 of 7; rank 3 has not come; rank 1 waits for rank 0 in step 3 of 7; "
            "rank 2 waits for rank 1 in step 4 of 7" +
            kRaise;
        const auto body = [](stretto_comm comm) { return ring_without(3, comm); };
        CHECK(told(4, hosts, body, expected) == expected);
    }
}

TEST_CASE("ranks that wait in the same way are named together") {
    for (const std::string &hosts : kHosts) {
        CAPTURE(hosts);
        const std::string expected = rank_0(hosts) +
                                     " in broadcast(1 x float32, root 1) (call 0, linear, 0 of 4 "
                                     "bytes done) waited long for "
                                     "rank 1 in step 1 of 1; rank 1 has not come; ranks 2, 3 wait "
                                     "for rank 1 in step 1 of 1" +
                                     kRaise;
        const auto body = [](stretto_comm comm) {
            float x = 1;
            stretto_force_algorithm(comm, "linear");
            if (stretto_rank(comm) == 1)
                return STRETTO_OK;
            return stretto_broadcast(comm, &x, 1, STRETTO_FLOAT32, 1);
        };
        CHECK(told(4, hosts, body, expected) == expected);
    }
}

TEST_CASE("a rank that waits for a message instead") {
    for (const std::string &hosts : kHosts) {
        CAPTURE(hosts);
        const std::string in_allreduce =
            rank_0(hosts) +
            " in allreduce(1 x float32, sum) (call 0, one_shot, 4 of 8 bytes done) waited long for "
            "rank 1 in step 2 of 2; rank 1 has not come; rank 1 waits for a message from rank 0; "
            "rank 2 waits for rank 1 in step 2 of 2" +
            kRaise;
        const auto one_receives = [](stretto_comm comm) {
            float x = 1, y = 0;
            stretto_force_algorithm(comm, "one_shot");
            if (stretto_rank(comm) == 1)
                return stretto_recv(comm, &x, 1, STRETTO_FLOAT32, 0, 7, nullptr);
            return stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM);
        };
        CHECK(told(3, hosts, one_receives, in_allreduce) == in_allreduce);
        const std::string in_receive =
            rank_0(hosts) +
            " in recv(up to 4 bytes, source 1, tag 7) (0 bytes done) waited long for rank 1; rank "
            "1 "
            "waits for rank 0 in step 2 of 2 of call 0; each send needs its receive, and each "
            "receive its send" +
            kRaise;
        const auto zero_receives = [](stretto_comm comm) {
            float x = 1;
            return stretto_rank(comm) == 0
                       ? stretto_recv(comm, &x, 1, STRETTO_FLOAT32, 1, 7, nullptr)
                       : stretto_barrier(comm);
        };
        CHECK(told(2, hosts, zero_receives, in_receive) == in_receive);
    }
}
