// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong ends in the right error at every rank, naming who and what.
#include "doctest.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/processes.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using test::contains;
using test::on_processes;

TEST_CASE("wrong arguments are refused before anything is sent") {
    test::with_ranks(2, [](stretto_comm comm) {
        float x = 1, y = 0;
        CHECK(stretto_allreduce(comm, &x, &y, 1, static_cast<stretto_dtype>(99), STRETTO_SUM) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, static_cast<stretto_op>(-1)) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(stretto_allreduce(comm, nullptr, &y, 1, STRETTO_FLOAT32, STRETTO_SUM) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(stretto_allreduce(comm, &x, nullptr, 1, STRETTO_FLOAT32, STRETTO_SUM) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(stretto_allreduce(comm, &x, &x, 1, STRETTO_FLOAT32, STRETTO_SUM) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "STRETTO_IN_PLACE"));
        CHECK(stretto_reduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM, 2) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(stretto_allreduce(comm, &x, &y, SIZE_MAX, STRETTO_FLOAT32, STRETTO_SUM) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(stretto_allreduce(nullptr, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM) ==
              STRETTO_ERR_ARGUMENT);
        CHECK(stretto_force_algorithm(comm, "no_such") == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "ring")); // what there is
        CHECK(stretto_free(comm, &x) == STRETTO_ERR_ARGUMENT);
        // The communicator is whole.
        CHECK(stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM) == STRETTO_OK);
        CHECK(y == 2);
    });
}

TEST_CASE("a mismatch is an error on all ranks that names the ranks and the difference") {
    struct Case {
        std::size_t count;
        stretto_dtype dtype;
        stretto_op op;
        const char *said;
    };
    const std::vector<Case> others = {{101, STRETTO_FLOAT32, STRETTO_SUM, "101 x float32"},
                                      {100, STRETTO_INT32, STRETTO_SUM, "100 x int32"},
                                      {100, STRETTO_FLOAT32, STRETTO_MAX, "max"},
                                      {900'000, STRETTO_FLOAT32, STRETTO_SUM, "900000 x float32"}};
    for (const Case &other : others)
        test::with_ranks(3, [&](stretto_comm comm) {
            std::vector<float> send(1'000'000), recv(1'000'000);
            const Case mine =
                stretto_rank(comm) == 1 ? other : Case{100, STRETTO_FLOAT32, STRETTO_SUM, ""};
            CHECK(stretto_allreduce(comm, send.data(), recv.data(), mine.count, mine.dtype,
                                    mine.op) == STRETTO_ERR_MISMATCH);
            const std::string message = stretto_last_error();
            CHECK(contains(message, other.said));
            CHECK(contains(message, "100 x float32, sum"));
            CHECK(contains(message, "on rank 1"));
            // From now on the communicator refuses.
            CHECK(stretto_barrier(comm) != STRETTO_OK);
        });
}

TEST_CASE("a disagreement on the algorithm names both, and counts as the caller does") {
    struct Case {
        const char *rank_0, *rank_1; // what they force
        const char *said_0, *said_1;
    };
    const std::vector<Case> cases = {
        {"one_shot", "ring", " by one_shot", " by ring"},
        {"segmented_ring(segments=2)", "segmented_ring(segments=4)",
         " by segmented_ring(segments=2)", " by segmented_ring(segments=4)"},
        {"rabenseifner", "segmented_ring(segments=4)", " by rabenseifner",
         " by segmented_ring(segments=4)"},
        {"generalized", "generalized(group=2)", " by generalized", " by generalized(group=2)"},
        // Where there is no room names are shortened.
        {"late_last(late=1,segments=2)", "late_last(late=1,segments=4)",
         " by late_last(late=1,segment=2)", " by late_last(late=1,segment=4)"},
    };
    const std::string call = "allreduce(10000 x float32, sum)";
    for (const Case &each : cases)
        test::with_ranks(2, [&](stretto_comm comm) {
            std::vector<float> send(10000), recv(10000);
            const bool first = stretto_rank(comm) == 0;
            test::check(stretto_barrier(comm));
            test::check(stretto_barrier(comm));
            test::check(stretto_force_algorithm(comm, first ? each.rank_0 : each.rank_1));
            CHECK(stretto_allreduce(comm, send.data(), recv.data(), send.size(), STRETTO_FLOAT32,
                                    STRETTO_SUM) == STRETTO_ERR_MISMATCH);
            const std::string message = stretto_last_error();
            CAPTURE(message);
            CHECK(contains(message, "call 2 is " + call)); // also on several hosts
            for (const auto &[said, rank] :
                 {std::pair{each.said_0, " on rank 0"}, std::pair{each.said_1, " on rank 1"}})
                CHECK(contains(message, call + said + rank));
        });
}

TEST_CASE("errors of a communicator made of another name ranks of the job too") {
    test::with_ranks(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        stretto_comm child = nullptr, part = nullptr; // 2 1 0, and of that 0 2
        test::check(stretto_comm_split(comm, 0, -rank, &child));
        test::check(stretto_comm_split(child, rank == 1 ? 1 : 0, rank, &part));
        if (rank != 1) {
            int x = 1, y = 0;
            CHECK(stretto_allreduce(part, &x, &y, 1, STRETTO_INT32,
                                    rank == 0 ? STRETTO_SUM : STRETTO_MAX) == STRETTO_ERR_MISMATCH);
            const std::string message = stretto_last_error();
            CAPTURE(message);
            CHECK(contains(message, "sum) on rank 0"));
            CHECK(contains(message, "max) on rank 2 of the job (rank 1 of this communicator)"));
        }
        test::check(stretto_finalize(&part));
        test::check(stretto_finalize(&child));
    });
}

TEST_CASE("different roots and different collectives are disagreements too") {
    test::with_ranks(3, [&](stretto_comm comm) {
        int value = 1;
        CHECK(stretto_broadcast(comm, &value, 1, STRETTO_INT32, stretto_rank(comm) == 2 ? 2 : 0) +
                  stretto_barrier(comm) !=
              STRETTO_OK);
    });
    test::with_ranks(2, [&](stretto_comm comm) {
        int value = 1;
        CHECK((stretto_rank(comm) == 0
                   ? stretto_barrier(comm)
                   : stretto_allreduce(comm, STRETTO_IN_PLACE, &value, 1, STRETTO_INT32,
                                       STRETTO_SUM)) == STRETTO_ERR_MISMATCH);
        CHECK(contains(stretto_last_error(), "barrier"));
    });
}

TEST_CASE("a rank that does not come ends in a timeout that names it") {
    setenv("STRETTO_TIMEOUT", "1", 1);
    test::SharedCounter gave_up;
    test::with_ranks(3, [&](stretto_comm comm) {
        float x = 1, y;
        if (stretto_rank(comm) == 2) {
            gave_up.await(2); // sooner, it would have left
            return;
        }
        CHECK(stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT32, STRETTO_SUM) ==
              STRETTO_ERR_TIMEOUT);
        CHECK(contains(stretto_last_error(), "rank 2 has not come"));
        ++*gave_up;
    });
    unsetenv("STRETTO_TIMEOUT");
}

TEST_CASE("a rank that has left is an error, not a hang") {
    const std::string job = test::fresh_job();
    test::on_threads(3, [&](int rank) {
        stretto_comm comm = nullptr;
        test::check(stretto_init_explicit(rank, 3, job.c_str(), &comm));
        if (rank != 1) {
            double x = 1, y;
            CHECK(stretto_allreduce(comm, &x, &y, 1, STRETTO_FLOAT64, STRETTO_SUM) ==
                  STRETTO_ERR_PEER);
            CHECK(contains(stretto_last_error(), "rank 1 has left"));
            // Who finds it out speaks of its own call; to the other its own is said as well, which
            // it may not have begun by then.
            const std::string who = "rank " + std::to_string(rank);
            const std::string call = " allreduce(1 x float64, sum) (call 0";
            CHECK((contains(stretto_last_error(), who + " in" + call) ||
                   contains(stretto_last_error(), who + " before" + call)));
        }
        test::check(stretto_finalize(&comm));
    });
}

TEST_CASE("a killed rank is an error on all others, at any moment") {
    for (const std::size_t count : {std::size_t{1}, std::size_t{50'000}, std::size_t{3'000'000}}) {
        CAPTURE(count);
        const auto codes = test::on_processes(4, [count](stretto_comm comm) {
            std::vector<float> send(count, 1), recv(count);
            for (int call = 0; call < 1'000'000; ++call) {
                if (call == 20 && stretto_rank(comm) == 2)
                    raise(SIGKILL);
                const stretto_status status = stretto_allreduce(
                    comm, send.data(), recv.data(), count, STRETTO_FLOAT32, STRETTO_SUM);
                if (status == STRETTO_OK)
                    continue;
                const std::string who = "rank " + std::to_string(stretto_rank(comm));
                const bool right = status == STRETTO_ERR_PEER &&
                                   contains(stretto_last_error(), "rank 2 has died") &&
                                   (contains(stretto_last_error(), who + " in allreduce(") ||
                                    contains(stretto_last_error(), who + " before allreduce(")) &&
                                   contains(stretto_last_error(), " bytes done)");
                return stretto_finalize(&comm) == STRETTO_OK && right ? 7 : 8;
            }
            return 9;
        });
        CHECK(codes == std::vector<int>{7, 7, -SIGKILL, 7});
    }
}

TEST_CASE("nothing is left behind, whichever process is killed") {
    const auto leftovers = [] {
        std::vector<std::string> names;
        for (const auto &entry : std::filesystem::directory_iterator("/dev/shm"))
            if (contains(entry.path().string(), "stretto"))
                names.push_back(entry.path());
        return names;
    };
    test::on_processes(3, [](stretto_comm comm) {
        stretto_barrier(comm);
        raise(SIGKILL);
        return 0;
    });
    CHECK(leftovers().empty());
}

TEST_CASE("ranks that disagree on the size of the job learn it") {
    const std::string job = test::fresh_job();
    test::on_threads(2, [&](int rank) {
        stretto_comm comm = nullptr;
        CHECK(stretto_init_explicit(rank, rank == 0 ? 2 : 3, job.c_str(), &comm) ==
              STRETTO_ERR_MISMATCH);
        CHECK(contains(stretto_last_error(), "3 ranks"));
    });
}

TEST_CASE("a rank that never starts is named") {
    setenv("STRETTO_INIT_TIMEOUT", "1", 1);
    const std::string job = test::fresh_job();
    test::on_threads(2, [&](int rank) {
        stretto_comm comm = nullptr;
        CHECK(stretto_init_explicit(rank, 4, job.c_str(), &comm) == STRETTO_ERR_TIMEOUT);
        if (rank == 0)
            CHECK(contains(stretto_last_error(), "2 3"));
    });
    unsetenv("STRETTO_INIT_TIMEOUT");
}

TEST_CASE("no room for the segment is an error that names the remedy") {
    setenv("STRETTO_RING_BYTES", "4096G", 1);
    stretto_comm comm = nullptr;
    const stretto_status status = stretto_init_explicit(0, 1, "roomless", &comm);
    unsetenv("STRETTO_RING_BYTES");
    CHECK(status == STRETTO_ERR_MEMORY);
    CHECK(comm == nullptr);
}

TEST_CASE("malformed settings are named") {
    setenv("STRETTO_TIMEOUT", "soon", 1);
    stretto_comm comm = nullptr;
    CHECK(stretto_init_explicit(0, 1, "settings", &comm) == STRETTO_ERR_ARGUMENT);
    CHECK(contains(stretto_last_error(), "STRETTO_TIMEOUT is 'soon'"));
    unsetenv("STRETTO_TIMEOUT");
}
