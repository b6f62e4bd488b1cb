// SPDX-License-Identifier: BSD-3-Clause
// What is left of a job after a failure: who is in it, what it knows, and that its sums are right.
// The same on one host and on several.
#include "doctest.h"

#include <algorithm>
#include <csignal>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/processes.hpp"
#include "support/shared_counter.hpp"
#include "support/survivors.hpp"
#include "support/text.hpp"
#include "support/tier.hpp"

namespace {

using test::contains;
using test::MeetingPlace;
using test::SharedCounter;
using test::Survivor;

constexpr int kRight = 7; // exit codes
constexpr int kExcluded = 9;
constexpr int kWrong = 8;

// Whether these of `all` may go on without the others.
bool may_go_on(const std::vector<int> &left, const std::vector<int> &all) {
    if (!test::across_hosts() || 2 * left.size() > all.size())
        return !left.empty();
    return 2 * left.size() == all.size() && left.front() == all.front();
}

std::vector<int> without(const std::vector<int> &ranks, const std::set<int> &gone) {
    std::vector<int> left;
    for (const int rank : ranks)
        if (!gone.contains(rank))
            left.push_back(rank);
    return left;
}

std::vector<int> up_to(int size) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

// The others after `victim` has died: all agree on how many calls are complete, and go on.
int go_on(Survivor &self, std::uint64_t calls, const std::vector<int> &expected) {
    if (const stretto_status status = self.shrink(); status != STRETTO_OK)
        return status == STRETTO_ERR_EXCLUDED ? kExcluded : self.failed(1, status);
    if (self.ranks() != expected)
        return self.failed(2, STRETTO_OK);
    // A rank may have got one call further than another, and no further.
    std::uint64_t mine = self.completed(), least = 0, most = 0;
    stretto_status status =
        stretto_allreduce(self.comm(), &mine, &least, 1, STRETTO_UINT64, STRETTO_MIN);
    if (status == STRETTO_OK)
        status = stretto_allreduce(self.comm(), &mine, &most, 1, STRETTO_UINT64, STRETTO_MAX);
    if (status != STRETTO_OK)
        return self.failed(3, status);
    if (least != most || mine > calls || mine + 1 < calls)
        return self.failed(4, STRETTO_OK);
    for (const std::size_t count : {1, 1000, 50'000})
        if ((status = self.reduce(count)) != STRETTO_OK)
            return self.failed(5, status);
    return kRight;
}

} // namespace

TEST_CASE("the remaining ranks continue with the right sums, whichever ranks die") {
    const std::vector<int> sizes =
        test::full_tier() ? std::vector{2, 3, 4, 5, 6, 7, 8, 9} : std::vector{2, 3, 6, 9};
    for (const int size : sizes)
        for (const int victim : std::set<int>{0, size / 2, size - 1}) {
            CAPTURE(size);
            CAPTURE(victim);
            const std::vector<int> left = without(up_to(size), {victim});
            const MeetingPlace place;
            SharedCounter calls;
            const auto codes = test::on_processes(
                size,
                [&](stretto_comm comm) {
                    Survivor self(comm);
                    stretto_status status = STRETTO_OK;
                    std::uint64_t done = 0;
                    for (; (status = self.reduce(10'000)) == STRETTO_OK; ++done)
                        ++*calls;
                    if (status != STRETTO_ERR_PEER)
                        return self.failed(10, status);
                    return go_on(self, done, left);
                },
                [&](const std::vector<pid_t> &processes) {
                    calls.await(5 * size);
                    kill(processes[static_cast<std::size_t>(victim)], SIGKILL);
                });
            std::vector<int> expected(static_cast<std::size_t>(size),
                                      may_go_on(left, up_to(size)) ? kRight : kExcluded);
            expected[static_cast<std::size_t>(victim)] = -SIGKILL;
            CHECK(codes == expected);
        }
}

TEST_CASE("after a failure without a death all ranks continue") {
    for (int size = 1; size <= (test::full_tier() ? 9 : 4); ++size) {
        CAPTURE(size);
        const MeetingPlace place;
        const auto codes = test::on_processes(size, [&](stretto_comm comm) {
            Survivor self(comm);
            const auto fails = [](const void *, void *, std::size_t, stretto_dtype, void *) {
                throw std::runtime_error("not this one");
            };
            stretto_op op;
            std::int64_t one = 1, sum = 0;
            if (stretto_op_create(fails, nullptr, 1, &op) != STRETTO_OK)
                return 10;
            // Others may be told of the second call while they are in the first.
            stretto_status status = self.reduce(100);
            const std::uint64_t calls = status == STRETTO_OK ? 1 : 0;
            if (status == STRETTO_OK)
                status = size == 1 // where nothing is reduced, and so nothing fails
                             ? STRETTO_ERR_OPERATION
                             : stretto_allreduce(comm, &one, &sum, 1, STRETTO_INT64, op);
            if (status != STRETTO_ERR_OPERATION)
                return self.failed(11, status);
            return size == 1 ? kRight : go_on(self, calls, up_to(size));
        });
        CHECK(codes == std::vector<int>(static_cast<std::size_t>(size), kRight));
    }
}

TEST_CASE("one after the other goes, until one is left") {
    for (const bool from_the_end : {true, false}) {
        constexpr int kSize = 5;
        CAPTURE(from_the_end);
        const MeetingPlace place;
        const auto codes = test::on_processes(kSize, [&](stretto_comm comm) {
            Survivor self(comm);
            for (int round = 0; round + 1 < kSize; ++round) {
                const int victim = from_the_end ? kSize - 1 - round : round;
                stretto_status status = STRETTO_OK;
                const std::uint64_t calls = self.reduce_until_told(2000, victim, status) +
                                            (round == 0 ? 0 : 5); // those of go_on
                if (status != STRETTO_ERR_PEER)
                    return self.failed(10, status);
                const std::vector<int> all = self.ranks();
                const int code = go_on(self, calls, without(all, {victim}));
                if (code != kRight)
                    return code;
            }
            return self.ranks().size() == 1 ? kRight : kWrong;
        });
        std::vector<int> expected(kSize, -SIGKILL);
        // Of two hosts' two ranks, the lower one goes on alone.
        expected[from_the_end ? 0 : kSize - 1] =
            from_the_end || !test::across_hosts() ? kRight : kExcluded;
        CHECK(codes == expected);
    }
}

TEST_CASE("hosts may have any number of ranks, and one host may be left") {
    if (!test::across_hosts())
        return;
    const std::string before = std::getenv("STRETTO_FAKE_HOSTS");
    for (const char *hosts : {"a,a,a,b,a,a,a", "a,b,c,a,a,b,c", "a,b,b,b,b,b,b"}) {
        CAPTURE(hosts);
        setenv("STRETTO_FAKE_HOSTS", hosts, 1);
        const MeetingPlace place;
        // First a rank that shares its host with others, or has one of its own; then another.
        const auto codes = test::on_processes(7, [&](stretto_comm comm) {
            Survivor self(comm);
            std::set<int> gone;
            for (const int victim : {3, 0, 5}) {
                gone.insert(victim);
                stretto_status status = STRETTO_OK;
                self.reduce_until_told(3000, victim, status);
                if (status != STRETTO_ERR_PEER)
                    return self.failed(10, status);
                if (const stretto_status shrunk = self.shrink(); shrunk != STRETTO_OK)
                    return self.failed(11, shrunk);
                if (self.ranks() != without(up_to(7), gone))
                    return self.failed(12, STRETTO_OK);
            }
            return self.reduce(50'000) == STRETTO_OK ? kRight : kWrong;
        });
        CHECK(codes ==
              std::vector<int>{-SIGKILL, kRight, kRight, -SIGKILL, kRight, -SIGKILL, kRight});
    }
    setenv("STRETTO_FAKE_HOSTS", before.c_str(), 1);
}

TEST_CASE("the communicator of a shrink has all functions of the old one") {
    const MeetingPlace place;
    const auto codes = test::on_processes(5, [&](stretto_comm comm) {
        Survivor self(comm);
        if (stretto_force_algorithm(comm, "ring") != STRETTO_OK ||
            stretto_set_reproducible(comm, STRETTO_REPRODUCIBLE_RUN) != STRETTO_OK)
            return 1;
        stretto_status status = STRETTO_OK;
        self.reduce_until_told(100, 1, status);
        if ((status = self.shrink()) != STRETTO_OK)
            return self.failed(2, status);
        const char *name = nullptr;
        if (stretto_chosen_algorithm(self.comm(), "allreduce", 10, STRETTO_FLOAT32, &name) !=
                STRETTO_OK ||
            !contains(name, "ring"))
            return self.failed(3, STRETTO_OK);
        // Children, messages, memory that is read in place.
        stretto_comm half = nullptr, copy = nullptr;
        const int rank = stretto_rank(self.comm());
        int sum = 0, came = -1;
        stretto_request request = nullptr;
        if (stretto_comm_split(self.comm(), rank % 2, 0, &half) != STRETTO_OK ||
            stretto_comm_dup(self.comm(), &copy) != STRETTO_OK ||
            stretto_allreduce(half, &rank, &sum, 1, STRETTO_INT32, STRETTO_SUM) != STRETTO_OK ||
            sum != (rank % 2 == 0 ? 0 + 2 : 1 + 3) ||
            stretto_irecv(copy, &came, 1, STRETTO_INT32, (rank + 3) % 4, 0, nullptr, &request) !=
                STRETTO_OK ||
            stretto_send(copy, &rank, 1, STRETTO_INT32, (rank + 1) % 4, 0) != STRETTO_OK ||
            stretto_wait(&request) != STRETTO_OK || came != (rank + 3) % 4)
            return self.failed(4, STRETTO_OK);
        void *memory = nullptr;
        if (stretto_alloc(self.comm(), 100'000 * sizeof(int), &memory) != STRETTO_OK)
            return self.failed(5, STRETTO_OK);
        int *vector = static_cast<int *>(memory);
        for (int i = 0; i < 100'000; ++i)
            vector[i] = rank + i;
        if (stretto_allreduce(self.comm(), STRETTO_IN_PLACE, vector, 100'000, STRETTO_INT32,
                              STRETTO_SUM) != STRETTO_OK)
            return self.failed(6, STRETTO_OK);
        for (int i = 0; i < 100'000; ++i)
            if (vector[i] != 0 + 1 + 2 + 3 + 4 * i)
                return self.failed(7, STRETTO_OK);
        const bool left =
            stretto_finalize(&half) == STRETTO_OK && stretto_finalize(&copy) == STRETTO_OK;
        return left ? kRight : kWrong;
    });
    CHECK(codes == std::vector<int>{kRight, -SIGKILL, kRight, kRight, kRight});
}

TEST_CASE("only a job that has failed shrinks, and only once") {
    const MeetingPlace place;
    SharedCounter over;
    const auto codes = test::on_processes(3, [&](stretto_comm comm) {
        const int rank = stretto_rank(comm);
        stretto_comm copy = nullptr, next = nullptr, again = nullptr;
        std::uint64_t completed = 99;
        if (stretto_comm_shrink(nullptr, &completed, &next) != STRETTO_ERR_ARGUMENT ||
            stretto_comm_shrink(comm, &completed, nullptr) != STRETTO_ERR_ARGUMENT ||
            stretto_comm_shrink(comm, &completed, &next) != STRETTO_ERR_ARGUMENT ||
            !contains(stretto_last_error(), "has not failed") ||
            stretto_comm_dup(comm, &copy) != STRETTO_OK ||
            stretto_comm_shrink(copy, &completed, &next) != STRETTO_ERR_UNSUPPORTED ||
            !contains(stretto_last_error(), "shrink the one of stretto_init") || next != nullptr ||
            completed != 99)
            return 1;
        ++*over;
        over.await(3);
        if (rank == 2)
            raise(SIGKILL);
        while (stretto_barrier(comm) == STRETTO_OK) {
        }
        // Without a place for the number.
        if (stretto_comm_shrink(comm, nullptr, &next) != STRETTO_OK ||
            stretto_comm_shrink(comm, nullptr, &again) != STRETTO_ERR_ARGUMENT ||
            !contains(stretto_last_error(), "has shrunk already") || again != nullptr ||
            stretto_comm_shrink(next, nullptr, &again) != STRETTO_ERR_ARGUMENT)
            return 2;
        return stretto_finalize(&copy) == STRETTO_OK && stretto_finalize(&comm) == STRETTO_OK &&
                       stretto_barrier(next) == STRETTO_OK && stretto_finalize(&next) == STRETTO_OK
                   ? kRight
                   : kWrong;
    });
    CHECK(codes == std::vector<int>{kRight, kRight, -SIGKILL});
}
