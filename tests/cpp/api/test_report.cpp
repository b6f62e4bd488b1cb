// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of whole jobs note of their calls: each once, with the same number on all ranks.
#include "doctest.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "arrival/call_log.hpp"
#include "support/environment.hpp"
#include "support/folder.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using stretto::arrival::CallsOfRank;
using test::check;

namespace {

// Of all ranks, in their order.
std::vector<CallsOfRank> reports(const test::Folder &folder) {
    std::vector<CallsOfRank> found;
    for (const std::string &path : folder.files(".calls"))
        found.push_back(stretto::arrival::read_calls(path));
    std::ranges::sort(found, {}, &CallsOfRank::rank);
    return found;
}

std::string named(const CallsOfRank::Kind &kind) {
    const auto &what = kind.what;
    return what.collective + " " + std::to_string(what.count) + " " + what.dtype + " " + what.op +
           " " + std::to_string(what.root) + " of " + std::to_string(what.size);
}

void work(stretto_comm comm) {
    const int rank = stretto_rank(comm), size = stretto_size(comm);
    std::vector<float> x(300, 1), y(300);
    for (int i = 0; i < 3; ++i)
        check(stretto_allreduce(comm, x.data(), y.data(), 30, STRETTO_FLOAT32, STRETTO_MAX));
    check(stretto_allreduce(comm, x.data(), y.data(), 31, STRETTO_FLOAT32, STRETTO_MAX));
    for (int i = 0; i < 2; ++i)
        check(stretto_broadcast(comm, x.data(), 7, STRETTO_INT32, size - 1));
    check(stretto_barrier(comm));
    const std::vector<std::size_t> counts(static_cast<std::size_t>(size), 2);
    check(stretto_alltoallv(comm, x.data(), counts.data(), nullptr, y.data(), counts.data(),
                            nullptr, STRETTO_FLOAT32));
    stretto_request request = nullptr;
    check(stretto_iallreduce(comm, x.data(), y.data(), 30, STRETTO_FLOAT32, STRETTO_MAX, &request));
    check(stretto_wait(&request));
    stretto_comm child = nullptr; // of two ranks, and the rest
    check(stretto_comm_split(comm, rank < 2 ? 0 : 1, -rank, &child));
    check(stretto_allreduce(child, x.data(), y.data(), 30, STRETTO_FLOAT32, STRETTO_SUM));
    check(stretto_finalize(&child));
}

std::map<std::string, std::uint64_t> expected(int rank, int size) {
    if (size == 1)
        return {};
    const std::string of = " of " + std::to_string(size);
    std::map<std::string, std::uint64_t> calls{
        {"allreduce 30 float32 max -1" + of, 3},
        {"allreduce 31 float32 max -1" + of, 1},
        {"broadcast 7 int32  " + std::to_string(size - 1) + of, 2},
        {"barrier 0   -1" + of, 1},
        {"alltoallv 0   -1" + of, 1},
        {"nonblocking allreduce 30 float32 max -1" + of, 1},
        {"allgather 2 int64  -1" + of, 1}}; // by which a split is agreed on
    const int with = rank < 2 ? 2 : size - 2;
    if (with > 1)
        calls["allreduce 30 float32 sum -1 of " + std::to_string(with)] = 1;
    return calls;
}

void check_report(const CallsOfRank &report, int rank, int size) {
    CHECK(report.rank == rank);
    CHECK(report.ranks == size);
    CHECK(report.left_out == 0);
    std::map<std::string, std::uint64_t> calls;
    for (const CallsOfRank::Kind &kind : report.kinds) {
        calls[named(kind)] = kind.complete;
        CHECK(kind.begun == kind.complete);
        REQUIRE(kind.kept.size() == kind.complete);
        std::uint64_t inside = 0, before = 0;
        for (const CallsOfRank::Call &call : kind.kept) {
            CHECK(call.begin >= before);
            CHECK(call.end >= call.begin);
            inside += call.end - call.begin;
            before = call.end;
        }
        CHECK(kind.inside == inside);
    }
    CHECK(calls == expected(rank, size));
}

} // namespace

TEST_CASE("each call of each rank is in its report") {
    for (const int ranks : {1, 2, 3, 5}) {
        CAPTURE(ranks);
        const test::Folder folder;
        {
            const test::With wanted("STRETTO_REPORT", folder.path().c_str());
            test::with_ranks(ranks, work);
        }
        const std::vector<CallsOfRank> all = reports(folder);
        REQUIRE(all.size() == static_cast<std::size_t>(ranks));
        for (int rank = 0; rank < ranks; ++rank) {
            CAPTURE(rank);
            check_report(all[static_cast<std::size_t>(rank)], rank, ranks);
            CHECK(all[static_cast<std::size_t>(rank)].job_id == all[0].job_id);
        }
        // Nobody leaves an allreduce before all have come; ranks of one machine share a clock.
        for (std::size_t call = 0; ranks > 1 && call < 3; ++call) {
            std::uint64_t last = 0, first = UINT64_MAX;
            for (const CallsOfRank &each : all) {
                CHECK(each.kinds[0].what.communicator == all[0].kinds[0].what.communicator);
                last = std::max(last, each.kinds[0].kept[call].begin);
                first = std::min(first, each.kinds[0].kept[call].end);
            }
            CHECK(last <= first);
        }
    }
}

TEST_CASE("computation during a nonblocking call does not count as its time") {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kBeside(50);
    const test::Folder folder;
    std::array<Clock::duration, 2> elapsed{}; // by rank
    {
        const test::With wanted("STRETTO_REPORT", folder.path().c_str());
        test::with_ranks(2, [&](stretto_comm comm) {
            const auto began = Clock::now();
            const int x[2] = {1, 2};
            int y[2] = {0, 0};
            stretto_request two[2] = {nullptr, nullptr};
            for (int i = 0; i < 2; ++i)
                check(
                    stretto_iallreduce(comm, &x[i], &y[i], 1, STRETTO_INT32, STRETTO_SUM, &two[i]));
            std::this_thread::sleep_for(kBeside); // computes
            check(stretto_wait(&two[1]));
            check(stretto_wait(&two[0]));
            elapsed[static_cast<std::size_t>(stretto_rank(comm))] = Clock::now() - began;
            CHECK(y[0] == 2);
            CHECK(y[1] == 4);
        });
    }
    const std::vector<CallsOfRank> all = reports(folder);
    REQUIRE(all.size() == 2);
    for (const CallsOfRank &each : all) {
        REQUIRE(each.kinds.size() == 1);
        const CallsOfRank::Kind &kind = each.kinds[0];
        CHECK(kind.what.collective == "nonblocking allreduce");
        CHECK(kind.begun == 2);
        CHECK(kind.complete == 2);
        REQUIRE(kind.kept.size() == 2);
        std::uint64_t inside = 0;
        for (const CallsOfRank::Call &call : kind.kept) {
            CHECK(call.end > call.begin);
            inside += call.end - call.begin;
        }
        CHECK(kind.inside == inside);
        const auto most = elapsed[static_cast<std::size_t>(each.rank)] - kBeside;
        CHECK(std::chrono::nanoseconds(inside) <= most);
    }
}

TEST_CASE("a call that failed has begun and not ended") {
    const test::Folder folder;
    const test::With wanted("STRETTO_REPORT", folder.path().c_str());
    test::with_ranks(3, [&](stretto_comm comm) {
        int x = 1, y = 0;
        const stretto_op op = stretto_rank(comm) == 1 ? STRETTO_MAX : STRETTO_SUM;
        CHECK(stretto_allreduce(comm, &x, &y, 1, STRETTO_INT32, op) == STRETTO_ERR_MISMATCH);
    });
    const std::vector<CallsOfRank> all = reports(folder);
    REQUIRE(all.size() == 3);
    for (const CallsOfRank &each : all) {
        REQUIRE(each.kinds.size() == 1);
        CHECK(each.kinds[0].begun == 1);
        CHECK(each.kinds[0].complete == 0);
        REQUIRE(each.kinds[0].kept.size() == 1);
        CHECK(each.kinds[0].kept[0].end == 0);
    }
}

TEST_CASE("plans that are forgotten do not begin their counts anew") {
    const test::Folder folder;
    const test::With wanted("STRETTO_REPORT", folder.path().c_str());
    const test::With tiny("STRETTO_PLAN_BYTES", "1K");
    test::with_ranks(3, [](stretto_comm comm) {
        std::vector<int> x(64);
        for (int turn = 0; turn < 20; ++turn)
            for (std::size_t count = 1; count < 5; ++count)
                check(stretto_allreduce(comm, STRETTO_IN_PLACE, x.data(), count, STRETTO_INT32,
                                        STRETTO_MAX));
    });
    for (const CallsOfRank &each : reports(folder)) {
        REQUIRE(each.kinds.size() == 4);
        for (const CallsOfRank::Kind &kind : each.kinds)
            CHECK(kind.complete == 20);
    }
}

TEST_CASE("a rank that cannot write its report is an error") {
    const test::Folder folder;
    std::ofstream(folder.path() + "/file") << "no folder";
    const test::With wanted("STRETTO_REPORT", (folder.path() + "/file").c_str());
    stretto_comm comm = nullptr;
    CHECK(stretto_init_explicit(0, 1, test::fresh_job().c_str(), &comm) == STRETTO_ERR_SYSTEM);
    CHECK(test::contains(stretto_last_error(), "STRETTO_REPORT names a folder"));
}
