// SPDX-License-Identifier: BSD-3-Clause
// A rank that does not come is told of while the others wait for it, and the call ends well.  The
// late rank waits until the others have been told, so nothing depends on time.
#include "doctest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/world.hpp"

using test::check;

namespace {

constexpr double kAtOnce = 1e-4; // seconds: with the first look

struct Heard {
    std::string text, collective;
    std::vector<int> ranks;
    std::uint64_t call;
    int rank, all_came;
    double waited, longest;
};

struct Ear {
    std::vector<Heard> heard;
    std::atomic<int> *told; // all stalls of all ranks but the last
};

void hear(const stretto_stall *stall, void *context) {
    Ear &ear = *static_cast<Ear *>(context);
    ear.heard.push_back({stall->text, stall->collective,
                         std::vector<int>(stall->ranks, stall->ranks + stall->count), stall->call,
                         stall->rank, stall->all_came, stall->waited_seconds,
                         stall->longest_seconds});
    ear.told->fetch_add(1);
}

void await(const std::atomic<int> &told, int wanted) {
    while (told.load() < wanted)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// An allreduce to which the last rank comes when `wanted` stalls have been told.
void call(stretto_comm comm, const std::atomic<int> &told, int wanted, std::size_t count) {
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    if (rank == size - 1)
        await(told, wanted);
    std::vector<int> in(count), out(count, -1);
    for (std::size_t i = 0; i < count; ++i)
        in[i] = rank * 1000 + static_cast<int>(i);
    check(stretto_allreduce(comm, in.data(), out.data(), count, STRETTO_INT32, STRETTO_SUM));
    for (std::size_t i = 0; i < count; ++i)
        CHECK(out[i] == size * (size - 1) / 2 * 1000 + size * static_cast<int>(i));
}

} // namespace

TEST_CASE("the stall callback runs once for each waiting rank, and the call goes on") {
    constexpr int kRanks = 3, kOthers = kRanks - 1, kCalls = 3;
    std::atomic<int> told{0};
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        Ear ear{{}, &told};
        const bool late = stretto_rank(comm) == kRanks - 1;
        if (!late)
            check(stretto_set_stall_callback(comm, &hear, &ear, 0, kAtOnce));
        for (int i = 0; i < kCalls; ++i)
            call(comm, told, (i + 1) * kOthers, 5);
        check(stretto_set_stall_callback(comm, nullptr, nullptr, 0, 0));
        if (late)
            return;
        REQUIRE(ear.heard.size() == kCalls);
        for (int i = 0; i < kCalls; ++i) {
            const Heard &each = ear.heard[static_cast<std::size_t>(i)];
            CHECK(each.collective == "allreduce(5 x int32, sum)");
            CHECK(each.call >= static_cast<std::uint64_t>(i)); // more if the library made some, too
            CHECK(each.rank == stretto_rank(comm));
            CHECK(each.all_came == 0);
            CHECK(std::count(each.ranks.begin(), each.ranks.end(), kRanks - 1) == 1);
            CHECK(std::count(each.ranks.begin(), each.ranks.end(), each.rank) == 0);
            CHECK(each.waited > kAtOnce);
            CHECK((each.longest > 0) == (i > 0)); // what the calls before taught
            CHECK(each.text.find("allreduce(5 x int32, sum) (call " + std::to_string(each.call)) !=
                  std::string::npos);
            CHECK(each.text.find("not come") != std::string::npos);
        }
    });
}

TEST_CASE("a wait as long as earlier ones is not reported") {
    constexpr int kRanks = 3, kOthers = kRanks - 1;
    std::atomic<int> told{0};
    test::with_ranks(kRanks, [&](stretto_comm comm) {
        Ear ear{{}, &told};
        const bool late = stretto_rank(comm) == kRanks - 1;
        if (!late)
            check(stretto_set_stall_callback(comm, &hear, &ear, 0, kAtOnce));
        call(comm, told, kOthers, 5);
        // Half an hour at least, as a wait of which nobody hears is longer than a millisecond.
        if (!late)
            check(stretto_set_stall_callback(comm, &hear, &ear, 2e6, kAtOnce));
        if (late)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        call(comm, told, kOthers, 5);
        CHECK(ear.heard.size() == (late ? 0 : 1));
        call(comm, told, 2 * kOthers, 6); // another kind
        check(stretto_set_stall_callback(comm, nullptr, nullptr, 0, 0));
        if (!late) {
            REQUIRE(ear.heard.size() == 2);
            CHECK(ear.heard[1].longest == 0);
        }
        if (late)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        call(comm, told, 2 * kOthers, 7);
        CHECK(ear.heard.size() == (late ? 0 : 2));
    });
}

TEST_CASE("the stall callback also runs for nonblocking calls") {
    std::atomic<int> told{0};
    test::with_ranks(2, [&](stretto_comm comm) {
        Ear ear{{}, &told};
        const bool late = stretto_rank(comm) == 1;
        if (late)
            await(told, 1);
        else
            check(stretto_set_stall_callback(comm, &hear, &ear, 0, kAtOnce));
        const int mine = stretto_rank(comm) + 1;
        int sum = -1;
        stretto_request request = nullptr;
        check(stretto_iallreduce(comm, &mine, &sum, 1, STRETTO_INT32, STRETTO_SUM, &request));
        check(stretto_wait(&request));
        check(stretto_set_stall_callback(comm, nullptr, nullptr, 0, 0));
        CHECK(sum == 3);
        if (!late) {
            REQUIRE(ear.heard.size() == 1);
            CHECK(ear.heard[0].ranks == std::vector<int>{1});
            CHECK(ear.heard[0].collective == "nonblocking allreduce(1 x int32, sum)");
        }
    });
}
