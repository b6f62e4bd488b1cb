// SPDX-License-Identifier: BSD-3-Clause
// Ranks that test in place of waiting: they hear of a rank that does not come, or dies, as those
// who wait.  Without that the loops below would have no end.
#include "doctest.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/environment.hpp"
#include "support/processes.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

namespace {

constexpr int kTold = 7, kWrong = 8; // exit codes
constexpr int kMissing = 2;

struct Buffers {
    std::vector<std::int64_t> in = std::vector<std::int64_t>(3000, 1), out = in;
};
using Start = std::function<stretto_status(stretto_comm, Buffers &, stretto_request *)>;

// All that is started and ends later, and needs rank 2 on the others.
const std::vector<std::pair<const char *, Start>> &kinds() {
    static const std::size_t counts[] = {1000, 1000, 1000};
    static const std::vector<std::pair<const char *, Start>> all = {
        {"iallreduce",
         [](stretto_comm comm, Buffers &b, stretto_request *request) {
             return stretto_iallreduce(comm, b.in.data(), b.out.data(), 1000, STRETTO_INT64,
                                       STRETTO_SUM, request);
         }},
        {"persistent",
         [](stretto_comm comm, Buffers &b, stretto_request *request) {
             test::check(stretto_allreduce_init(comm, b.in.data(), b.out.data(), 1000,
                                                STRETTO_INT64, STRETTO_SUM, request));
             return stretto_start(*request);
         }},
        {"ialltoallv",
         [](stretto_comm comm, Buffers &b, stretto_request *request) {
             return stretto_ialltoallv(comm, b.in.data(), counts, nullptr, b.out.data(), counts,
                                       nullptr, STRETTO_INT64, request);
         }},
        {"irecv",
         [](stretto_comm comm, Buffers &b, stretto_request *request) {
             return stretto_irecv(comm, b.out.data(), 1, STRETTO_INT64, kMissing, 3, nullptr,
                                  request);
         }},
        {"isend",
         [](stretto_comm comm, Buffers &b, stretto_request *request) {
             return stretto_isend(comm, b.in.data(), 3000, STRETTO_INT64, kMissing, 3, request);
         }},
    };
    return all;
}

// Tests until it has ended or failed; gives the exit code of a rank that expects this error.
int poll_until_told(stretto_comm comm, const Start &start, bool pauses, stretto_status expected,
                    const std::string &part) {
    Buffers buffers;
    stretto_request request = nullptr;
    int done = 0;
    stretto_status status = start(comm, buffers, &request);
    while (status == STRETTO_OK && done == 0) {
        status = stretto_test(&request, &done);
        if (pauses)
            std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    const std::string message = stretto_last_error();
    test::check(stretto_finalize(&comm)); // else the others may hear of the end of this rank
    if (status == expected && test::contains(message, part))
        return kTold;
    std::fprintf(stderr, "%s: %s\n", stretto_status_name(status), message.c_str());
    return kWrong;
}

} // namespace

TEST_CASE("a rank that tests gets an error for a rank that does not come") {
    const test::With timeout("STRETTO_TIMEOUT", "0.3");
    for (const bool pauses : {false, true})
        for (const auto &[name, start] : kinds()) {
            CAPTURE(name);
            CAPTURE(pauses);
            CHECK(test::on_processes(
                      3,
                      [&, &begin = start](stretto_comm comm) {
                          if (stretto_rank(comm) == kMissing)
                              for (;;)
                                  pause();
                          return poll_until_told(comm, begin, pauses, STRETTO_ERR_TIMEOUT,
                                                 "STRETTO_TIMEOUT");
                      },
                      [](const std::vector<pid_t> &processes) {
                          for (const int rank : {0, 1}) {
                              siginfo_t ended{};
                              waitid(P_PID, static_cast<id_t>(processes[rank]), &ended,
                                     WEXITED | WNOWAIT);
                          }
                          kill(processes[kMissing], SIGKILL);
                      }) == std::vector<int>{kTold, kTold, -SIGKILL});
        }
}

TEST_CASE("a rank that tests or probes gets an error for a rank that has died") {
    const test::With timeout("STRETTO_TIMEOUT", "0");
    auto all = kinds();
    all.emplace_back("iprobe", [](stretto_comm comm, Buffers &, stretto_request *) {
        stretto_status status = STRETTO_OK;
        for (int found = 0; status == STRETTO_OK && found == 0;)
            status = stretto_iprobe(comm, kMissing, 3, &found, nullptr);
        return status;
    });
    for (const auto &[name, start] : all) {
        CAPTURE(name);
        CHECK(test::on_processes(3, [&, &begin = start](stretto_comm comm) {
                  if (stretto_rank(comm) == kMissing)
                      raise(SIGKILL);
                  return poll_until_told(comm, begin, false, STRETTO_ERR_PEER, "rank 2 has died");
              }) == std::vector<int>{kTold, kTold, -SIGKILL});
    }
}

TEST_CASE("a rank that tests waits for a late rank") {
    const test::With timeout("STRETTO_TIMEOUT", "60");
    test::with_ranks(3, [](stretto_comm comm) {
        for (int call = 0; call < 3; ++call) {
            if (stretto_rank(comm) == call)
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
            Buffers buffers;
            stretto_request request = nullptr;
            test::check(kinds().front().second(comm, buffers, &request));
            for (int done = 0; done == 0;)
                test::check(stretto_test(&request, &done));
            for (int i = 0; i < 1000; ++i)
                CHECK(buffers.out[static_cast<std::size_t>(i)] == 3);
        }
    });
}
