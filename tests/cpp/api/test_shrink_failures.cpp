// SPDX-License-Identifier: BSD-3-Clause
// What may go wrong while a job shrinks, and who may not go on: more deaths, at any moment; ranks
// that were stopped and come back; too few that are left.  The same on one host and on several.
#include "doctest.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <string>
#include <thread>
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
using test::With;

constexpr int kRight = 7; // exit codes
constexpr int kExcluded = 9;

void sleep_for(int microseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

// Shrinks as often as others die, until those who are left have reduced `calls` times together.
// Only a death may come in between.
int go_on(Survivor &self, int calls) {
    for (;;) {
        stretto_status status = self.shrink();
        if (status != STRETTO_OK)
            return status == STRETTO_ERR_EXCLUDED ? kExcluded : self.failed(1, status);
        int call = 0;
        while (call < calls && (status = self.reduce(2000)) == STRETTO_OK)
            ++call;
        // Nobody may leave while another one has yet to complete the last call.
        if (status == STRETTO_OK)
            status = stretto_barrier(self.comm());
        if (status == STRETTO_OK)
            return kRight;
        if (status != STRETTO_ERR_PEER)
            return self.failed(2, status);
    }
}

} // namespace

TEST_CASE("a rank for which a shrink waits dies") {
    constexpr int kSize = 5;
    for (const int second : {0, 3}) {
        CAPTURE(second);
        const MeetingPlace place;
        SharedCounter shrinking;
        const auto codes = test::on_processes(
            kSize,
            [&](stretto_comm comm) {
                Survivor self(comm);
                stretto_status status = STRETTO_OK;
                self.reduce_until_told(2000, 4, status);
                if (status != STRETTO_ERR_PEER)
                    return self.failed(10, status);
                if (self.rank() == second)
                    pause();
                ++*shrinking;
                return go_on(self, 3);
            },
            [&](const std::vector<pid_t> &processes) {
                shrinking.await(kSize - 2);
                sleep_for(20'000); // they are in it, most probably
                kill(processes[static_cast<std::size_t>(second)], SIGKILL);
            });
        std::vector<int> expected(kSize, kRight);
        expected[static_cast<std::size_t>(second)] = expected[4] = -SIGKILL;
        CHECK(codes == expected);
    }
}

TEST_CASE("ranks die at any moment of a shrink, one after the other") {
    std::mt19937 random(7);
    const int rounds = test::full_tier() ? 200 : 12;
    for (int round = 0; round < rounds; ++round) {
        const int size = 4 + round % 4;
        const int first = static_cast<int>(random() % static_cast<unsigned>(size));
        const int second =
            (first + 1 + static_cast<int>(random() % static_cast<unsigned>(size - 1))) % size;
        const int delay = static_cast<int>(random() % 4000);
        CAPTURE(round);
        CAPTURE(first);
        CAPTURE(second);
        CAPTURE(delay);
        const MeetingPlace place;
        SharedCounter shrinking;
        const auto codes = test::on_processes(
            size,
            [&](stretto_comm comm) {
                Survivor self(comm);
                stretto_status status = STRETTO_OK;
                self.reduce_until_told(2000, first, status);
                if (status != STRETTO_ERR_PEER)
                    return self.failed(10, status);
                ++*shrinking;
                return go_on(self, self.rank() == second ? 1'000'000 : 300);
            },
            [&](const std::vector<pid_t> &processes) {
                shrinking.await(1);
                sleep_for(delay);
                kill(processes[static_cast<std::size_t>(second)], SIGKILL);
            });
        // Of four on several hosts, two may be the half that must not go on.
        const bool may_end = test::across_hosts() && size == 4;
        for (int rank = 0; rank < size; ++rank) {
            const int code = codes[static_cast<std::size_t>(rank)];
            if (rank == first || rank == second)
                CHECK(code == -SIGKILL);
            else
                CHECK((code == kRight || (may_end && code == kExcluded)));
        }
    }
}

TEST_CASE("a rank that was stopped meanwhile learns that it is excluded") {
    constexpr int kSize = 4, kVictim = 1;
    const With patience("STRETTO_TIMEOUT", "1.5");
    const With silence("STRETTO_PEER_TIMEOUT", "1.5");
    const MeetingPlace place;
    SharedCounter calls, thawed;
    const auto codes = test::on_processes(
        kSize,
        [&](stretto_comm comm) {
            Survivor self(comm);
            stretto_status status = STRETTO_OK;
            while ((status = self.reduce(2000)) == STRETTO_OK)
                ++*calls;
            const int code = go_on(self, 10);
            const std::string said = stretto_last_error();
            if (self.rank() == kVictim) {
                ++*thawed;
                // Whoever asks again is told the same.
                if (code == kExcluded && contains(said, "excluded") &&
                    self.shrink() == STRETTO_ERR_EXCLUDED)
                    return kExcluded;
                return self.failed(3, STRETTO_OK);
            }
            // Being back, it harms nobody; the others leave together.
            for (int seen = 0; seen == 0;) {
                const int mine = *thawed;
                if ((status = self.reduce(2000)) != STRETTO_OK ||
                    (status = stretto_allreduce(self.comm(), &mine, &seen, 1, STRETTO_INT32,
                                                STRETTO_MAX)) != STRETTO_OK)
                    return self.failed(4, status);
            }
            return code;
        },
        [&](const std::vector<pid_t> &processes) {
            calls.await(5 * kSize);
            kill(processes[kVictim], SIGSTOP);
            sleep_for(6'000'000); // they have gone on by now
            kill(processes[kVictim], SIGCONT);
        });
    CHECK(codes == std::vector<int>{kRight, kExcluded, kRight, kRight});
}

TEST_CASE(
    "where STRETTO_TIMEOUT is off, the limit of calls ends the wait for who does not shrink") {
    constexpr int kSize = 3, kAbsent = 1;
    const With forever("STRETTO_TIMEOUT", "0");
    const MeetingPlace place;
    SharedCounter gone_on;
    const auto codes = test::on_processes(kSize, [&](stretto_comm comm) {
        Survivor self(comm);
        stretto_set_timeout(comm, 3);
        stretto_comm_abort(comm, "a test");
        if (const stretto_status status = stretto_barrier(comm); status != STRETTO_ERR_ABORTED)
            return self.failed(10, status);
        if (self.rank() == kAbsent) {
            // Who waits for it for ever gets it after a minute.
            for (int rest = 6000; *gone_on < kSize - 1 && rest > 0; --rest)
                sleep_for(10'000);
            return go_on(self, 3);
        }
        const int code = go_on(self, 3);
        ++*gone_on;
        return code;
    });
    CHECK(codes == std::vector<int>{kRight, kExcluded, kRight});
}

TEST_CASE("ranks without a majority get the error at once") {
    if (!test::across_hosts())
        return;
    constexpr int kSize = 5;
    const MeetingPlace place;
    SharedCounter ready;
    const auto codes = test::on_processes(
        kSize,
        [&](stretto_comm comm) {
            Survivor self(comm);
            ++*ready;
            if (self.rank() % 3 != 1) // host a
                pause();
            ready.await(kSize);
            stretto_status status = STRETTO_OK;
            self.reduce_until_told(2000, -1, status);
            const auto start = std::chrono::steady_clock::now();
            status = self.shrink();
            const bool at_once = std::chrono::steady_clock::now() - start < std::chrono::seconds(5);
            return status == STRETTO_ERR_EXCLUDED && at_once &&
                           contains(stretto_last_error(), "no majority of ranks 0-4")
                       ? kExcluded
                       : self.failed(3, status);
        },
        [&](const std::vector<pid_t> &processes) {
            ready.await(kSize);
            for (const std::size_t rank : {0, 2, 3})
                kill(processes[rank], SIGKILL);
        });
    CHECK(codes == std::vector<int>{-SIGKILL, kExcluded, -SIGKILL, -SIGKILL, kExcluded});
}

TEST_CASE("nothing in flight writes into a buffer after a shrink") {
    constexpr int kSize = 4;
    constexpr std::size_t kCount = 100'000;
    const MeetingPlace place;
    SharedCounter begun;
    const auto codes = test::on_processes(kSize, [&](stretto_comm comm) {
        Survivor self(comm);
        const int rank = self.rank(), next = (rank + 1) % kSize, previous = (rank + 3) % kSize;
        std::vector<int> sum(kCount), came(kCount), one(kCount, 1), parts(kCount);
        stretto_request requests[4] = {};
        if (stretto_irecv(comm, came.data(), kCount, STRETTO_INT32, previous, 0, nullptr,
                          &requests[0]) != STRETTO_OK ||
            stretto_isend(comm, one.data(), kCount, STRETTO_INT32, next, 0, &requests[1]) !=
                STRETTO_OK ||
            stretto_iallreduce(comm, one.data(), sum.data(), kCount, STRETTO_INT32, STRETTO_SUM,
                               &requests[2]) != STRETTO_OK)
            return self.failed(1, STRETTO_OK);
        if (rank != 2 && stretto_iallreduce(comm, one.data(), parts.data(), kCount, STRETTO_INT32,
                                            STRETTO_SUM, &requests[3]) != STRETTO_OK)
            return self.failed(1, STRETTO_OK);
        ++*begun;
        begun.await(kSize);
        if (rank == 2)
            raise(SIGKILL);
        while (stretto_barrier(comm) == STRETTO_OK) {
        }
        // Requests of the old communicator are still to be waited for, before or after.
        stretto_comm left = nullptr;
        std::uint64_t completed = 99;
        if (const stretto_status status = stretto_comm_shrink(comm, &completed, &left);
            status != STRETTO_OK)
            return self.failed(2, status);
        for (std::vector<int> *buffer : {&sum, &came, &parts})
            std::fill(buffer->begin(), buffer->end(), -7);
        for (int call = 0; call < 100; ++call)
            if (stretto_barrier(left) != STRETTO_OK)
                return self.failed(3, STRETTO_OK);
        for (const std::vector<int> *buffer : {&sum, &came, &parts})
            if (std::any_of(buffer->begin(), buffer->end(), [](int value) { return value != -7; }))
                return self.failed(4, STRETTO_OK);
        for (stretto_request &request : requests)
            (void)stretto_wait(&request); // ended well, or by the failure
        // The second allreduce can have been complete on nobody.
        return completed <= 1 && stretto_finalize(&left) == STRETTO_OK ? kRight
                                                                       : self.failed(5, STRETTO_OK);
    });
    CHECK(codes == std::vector<int>{kRight, kRight, -SIGKILL, kRight});
}
