// SPDX-License-Identifier: BSD-3-Clause
// Communicators made of others: who is in them, that they are whole, and what becomes of them.
#include "doctest.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/environment.hpp"
#include "support/processes.hpp"
#include "support/shared_counter.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"
#include "support/world.hpp"

using test::check;
using test::contains;

namespace {

// Which ranks of `root`, the first of all communicators, are in `comm`: each tells its own.
std::vector<int> members(stretto_comm comm, int rank_in_root) {
    std::vector<int> all(static_cast<std::size_t>(stretto_size(comm)), -1);
    check(stretto_allgather(comm, &rank_in_root, all.data(), 1, STRETTO_INT32));
    return all;
}

// A collective and a message around the ring, with answers that depend on who is there.
void use(stretto_comm comm, int round = 0) {
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    int x = rank + 1, sum = 0;
    check(stretto_allreduce(comm, &x, &sum, 1, STRETTO_INT32, STRETTO_SUM));
    CHECK(sum == size * (size + 1) / 2);
    int out = rank * 1000 + round, in = -1;
    stretto_request request = nullptr;
    check(
        stretto_irecv(comm, &in, 1, STRETTO_INT32, (rank + size - 1) % size, 0, nullptr, &request));
    check(stretto_send(comm, &out, 1, STRETTO_INT32, (rank + 1) % size, 0));
    check(stretto_wait(&request));
    CHECK(in == (rank + size - 1) % size * 1000 + round);
}

// The exit code of a rank; what it was told goes to the log if that was wrong.
int said(bool right) {
    if (!right)
        std::fprintf(stderr, "%s\n", stretto_last_error());
    return right ? 7 : 8;
}

bool across_hosts() {
    return std::getenv("STRETTO_ADDR") != nullptr;
}

int open_files() {
    int count = 0;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd"))
        count += !entry.path().empty();
    return count;
}

int mappings() {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
        ++count;
    return count;
}

} // namespace

TEST_CASE("split puts ranks of a color together, by key and then by rank") {
    for (const int ranks : {1, 2, 3, 5, 8})
        test::with_ranks(ranks, [ranks](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            stretto_comm parity = nullptr, backwards = nullptr, some = nullptr;
            check(stretto_comm_split(comm, rank % 2, 7, &parity));
            std::vector<int> right;
            for (int r = rank % 2; r < ranks; r += 2)
                right.push_back(r);
            CHECK(members(parity, rank) == right);
            CHECK(stretto_comm_parent_rank(parity, stretto_rank(parity)) == rank);
            CHECK(stretto_comm_parent_rank(parity, stretto_size(parity)) == -1);
            CHECK(stretto_comm_parent_rank(comm, 0) == -1);

            check(stretto_comm_split(comm, 0, -rank, &backwards));
            CHECK(stretto_rank(backwards) == ranks - 1 - rank);
            CHECK(stretto_size(backwards) == ranks);

            // Of the last rank nobody hears.
            const int color = rank == ranks - 1 ? STRETTO_UNDEFINED : 5;
            check(stretto_comm_split(comm, color, 0, &some));
            CHECK((some == nullptr) == (rank == ranks - 1));
            if (some != nullptr) {
                CHECK(stretto_size(some) == ranks - 1);
                use(some);
                check(stretto_finalize(&some));
            }
            use(parity);
            use(backwards);
            check(stretto_finalize(&backwards));
            use(comm);
            check(stretto_finalize(&parity));
        });
}

TEST_CASE("children have children, and outlive their parents") {
    const std::string job = test::fresh_job();
    test::on_threads(5, [&](int rank) {
        stretto_comm comm = nullptr, half = nullptr, copy = nullptr;
        check(stretto_init_explicit(rank, 5, job.c_str(), &comm));
        check(stretto_comm_split(comm, rank < 3, 0, &half));
        check(stretto_finalize(&comm));
        check(stretto_comm_dup(half, &copy));
        use(half);
        check(stretto_finalize(&half));
        use(copy);
        CHECK(stretto_size(copy) == (rank < 3 ? 3 : 2));
        check(stretto_finalize(&copy));
    });
}

TEST_CASE("a duplicate is a world of its own") {
    test::with_ranks(3, [](stretto_comm comm) {
        check(stretto_force_algorithm(comm, "ring"));
        stretto_comm copy = nullptr;
        check(stretto_comm_dup(comm, &copy));
        const char *name = nullptr;
        check(stretto_chosen_algorithm(copy, "allreduce", 100, STRETTO_FLOAT32, &name));
        CHECK(std::string(name) == "ring");
        // The same envelope in both.
        const int rank = stretto_rank(comm);
        int here = 1, there = 2;
        if (rank == 0) {
            check(stretto_send(comm, &here, 1, STRETTO_INT32, 1, 0));
            check(stretto_send(copy, &there, 1, STRETTO_INT32, 1, 0));
        } else if (rank == 1) {
            int x = 0;
            check(stretto_recv(copy, &x, 1, STRETTO_INT32, STRETTO_ANY_SOURCE, STRETTO_ANY_TAG,
                               nullptr));
            CHECK(x == 2);
            check(stretto_recv(comm, &x, 1, STRETTO_INT32, STRETTO_ANY_SOURCE, STRETTO_ANY_TAG,
                               nullptr));
            CHECK(x == 1);
        }
        use(copy);
        check(stretto_finalize(&copy));
    });
}

TEST_CASE("a failure in a child is none in its parent") {
    test::with_ranks(2, [](stretto_comm comm) {
        stretto_comm copy = nullptr;
        check(stretto_comm_dup(comm, &copy));
        int x = 1, y = 0;
        const stretto_op op = stretto_rank(comm) == 0 ? STRETTO_SUM : STRETTO_MAX;
        CHECK(stretto_allreduce(copy, &x, &y, 1, STRETTO_INT32, op) == STRETTO_ERR_MISMATCH);
        use(comm);
        check(stretto_finalize(&copy));
    });
}

TEST_CASE("create takes the listed ranks in their order, and several threads may at once") {
    constexpr int kRanks = 5;
    const int rounds = test::repeated(10);
    test::with_ranks(kRanks, [rounds](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        // Each thread has a list of its own: ranks that are not multiples of 2, 3, 4; by tag.
        std::vector<std::thread> threads;
        std::atomic<int> wrong{0};
        for (int thread = 0; thread < 3; ++thread)
            threads.emplace_back([&, thread] {
                std::vector<int> list;
                for (int r = kRanks - 1; r >= 0; --r)
                    if (r % (thread + 2) != 0)
                        list.push_back(r);
                const auto me = std::find(list.begin(), list.end(), rank);
                if (me == list.end())
                    return;
                for (int round = 0; round < rounds; ++round) {
                    stretto_comm child = nullptr;
                    if (stretto_comm_create(comm, list.data(), static_cast<int>(list.size()),
                                            thread, &child) != STRETTO_OK ||
                        stretto_rank(child) != static_cast<int>(me - list.begin()) ||
                        stretto_comm_parent_rank(child, 0) != list[0]) {
                        ++wrong;
                        return;
                    }
                    use(child, round);
                    if (members(child, rank) != list || stretto_finalize(&child) != STRETTO_OK)
                        ++wrong;
                }
            });
        for (int round = 0; round < rounds; ++round) // and the parent is in use
            use(comm, round);
        for (std::thread &thread : threads)
            thread.join();
        CHECK(wrong == 0);
    });
}

TEST_CASE("communicators are used by several threads at once") {
    constexpr int kThreads = 3;
    const int rounds = test::repeated(30);
    test::with_ranks(3, [rounds](stretto_comm comm) {
        std::vector<stretto_comm> copies(kThreads);
        for (stretto_comm &copy : copies)
            check(stretto_comm_dup(comm, &copy));
        std::vector<std::thread> threads;
        for (stretto_comm &copy : copies)
            threads.emplace_back([&copy, rounds] {
                std::vector<double> x(5000, 1), sum(5000);
                for (int round = 0; round < rounds; ++round) {
                    stretto_request request = nullptr;
                    check(stretto_iallreduce(copy, x.data(), sum.data(), x.size(), STRETTO_FLOAT64,
                                             STRETTO_SUM, &request));
                    use(copy, round);
                    check(stretto_wait(&request));
                    CHECK(sum.back() == 3);
                }
                check(stretto_finalize(&copy));
            });
        for (std::thread &thread : threads)
            thread.join();
    });
}

TEST_CASE("hundreds of communicators leave nothing behind") {
    test::with_ranks(2, [](stretto_comm comm) {
        static int files, maps;
        const auto cycle = [&](int rounds) {
            for (int round = 0; round < rounds; ++round) {
                stretto_comm child = nullptr;
                if (round % 2 == 0)
                    check(stretto_comm_dup(comm, &child));
                else
                    check(stretto_comm_split(comm, 0, 0, &child));
                if (round % 10 == 0)
                    use(child, round);
                check(stretto_finalize(&child));
            }
            check(stretto_barrier(comm)); // and all have
        };
        cycle(10);
        if (stretto_rank(comm) == 0) {
            files = open_files();
            maps = mappings();
        }
        check(stretto_barrier(comm));
        cycle(test::repeated(test::full_tier() ? 1000 : 200));
        if (stretto_rank(comm) == 0) {
            CHECK(open_files() <= files);
            CHECK(mappings() <= maps + 20); // of the allocator
        }
        check(stretto_barrier(comm));
    });
}

TEST_CASE("a rank that never comes to a creation is an error of all others") {
    // Ranks also need that long to join.
    const test::With limit("STRETTO_INIT_TIMEOUT", test::goes_by_device() ? "60" : "1");
    test::with_ranks(3, [](stretto_comm comm) {
        const int all[] = {1, 0, 2};
        stretto_comm child = nullptr;
        if (stretto_rank(comm) != 2)
            CHECK(stretto_comm_create(comm, all, 3, 0, &child) == STRETTO_ERR_TIMEOUT);
        if (stretto_rank(comm) == 1) // the founder knows who
            CHECK(contains(stretto_last_error(), "rank(s) 2 "));
        CHECK(child == nullptr);
        use(comm); // which is whole
        // What is left of the first attempt does not spoil the second.
        check(stretto_comm_create(comm, all, 3, 0, &child));
        use(child);
        check(stretto_finalize(&child));
    });
}

TEST_CASE("a member that dies or leaves while others create is an error at once") {
    for (const bool founder : {false, true}) {
        test::SharedCounter ready, told;
        const auto codes = test::on_processes(3, [&](stretto_comm comm) {
            const int culprit = founder ? 0 : 2;
            const int all[] = {0, 1, 2};
            ++*ready;
            ready.await(3);
            if (stretto_rank(comm) == culprit)
                raise(SIGKILL);
            stretto_comm child = nullptr;
            const stretto_status status = stretto_comm_create(comm, all, 3, 0, &child);
            const std::string name = "rank " + std::to_string(culprit) + " has died";
            const int code = said(status == STRETTO_ERR_PEER &&
                                  contains(stretto_last_error(), name.c_str()) && child == nullptr);
            ++*told; // whose process ends before is dead, too
            told.await(2);
            return code;
        });
        CHECK(codes ==
              (founder ? std::vector<int>{-SIGKILL, 7, 7} : std::vector<int>{7, 7, -SIGKILL}));
    }
}

TEST_CASE("a member of a child that dies is an error there and wherever it is awaited") {
    test::SharedCounter made, told;
    const auto codes = test::on_processes(4, [&](stretto_comm comm) {
        stretto_comm child = nullptr;
        const int rank = stretto_rank(comm);
        if (stretto_comm_split(comm, rank % 2, 0, &child) != STRETTO_OK)
            return 1;
        ++*made;
        made.await(4);
        if (rank == 3)
            raise(SIGKILL);
        const stretto_status status = stretto_barrier(child);
        // On several hosts all learn of it, those of another child as well, perhaps before they are
        // through; then the rank is called as in the job.
        const bool named = status == STRETTO_ERR_PEER &&
                           (contains(stretto_last_error(),
                                     "rank 3 of the job (rank 1 of this communicator) has died") ||
                            (across_hosts() && contains(stretto_last_error(), "rank 3 has died")));
        const bool through = rank != 1 && status == STRETTO_OK;
        const bool may_be_told = rank == 1 || across_hosts();
        const int code = said(through || (may_be_told && named));
        ++*told; // whose process ends before is dead, too
        told.await(3);
        return code;
    });
    CHECK(codes == std::vector<int>{7, 7, 7, -SIGKILL});
}
