// SPDX-License-Identifier: BSD-3-Clause
// Collectives whose ranks have parts of a vector: long ones, equal ones under two names, and what
// is refused.
#include "doctest.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/exact.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using test::Call;
using test::check;
using test::Collective;
using test::contains;

namespace {

void *const kKeep = const_cast<void *>(STRETTO_IN_PLACE);

bool serves(stretto_comm comm, Collective collective, const char *algorithm) {
    const char *chosen = nullptr;
    const std::string name(stretto::schedule::name(collective));
    check(stretto_chosen_algorithm(comm, name.c_str(), 1, STRETTO_FLOAT32, &chosen));
    return std::string(chosen) == algorithm;
}

void play_long(stretto_comm comm, Collective collective, std::size_t count, int kind) {
    Call call;
    call.collective = collective;
    call.count = count;
    call.root = stretto_size(comm) / 2;
    call.in_place = kind % 2 == 1;
    call.shared = kind / 2 % 2 == 1;
    if (kind >= 4 && test::takes_counts(collective))
        for (int r = 0; r < stretto_size(comm); ++r)
            call.counts.push_back(r == 1 ? 0 : count + static_cast<unsigned>(r));
    else if (kind >= 4)
        return; // has no counts
    const std::string wrong = test::play(comm, call);
    CHECK_MESSAGE(wrong == "", "rank ", stretto_rank(comm), " of ", stretto_size(comm), ", ",
                  label(call), ": ", wrong);
}

} // namespace

// Beyond 8 KiB others read contributions and write results where they lie in the heap, beyond
// 128 KiB cells and payloads have streams of their own.
TEST_CASE("long parts, which others read and write in place") {
    for (const int ranks : {2, 3, 5})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            for (const auto collective :
                 {Collective::reduce, Collective::gather, Collective::scatter, Collective::alltoall,
                  Collective::allgather, Collective::reduce_scatter})
                for (const char *const algorithm : {"linear", "binomial", "bruck", "direct"}) {
                    check(stretto_force_algorithm(comm, algorithm));
                    if (!serves(comm, collective, algorithm))
                        continue;
                    for (int kind = 0; kind < 8; ++kind)
                        play_long(comm, collective, ranks == 3 ? 33'001 : 2'503, kind);
                }
        });
}

TEST_CASE("equal counts are a count") {
    test::with_ranks(3, [](stretto_comm comm) {
        const bool second = stretto_rank(comm) == 1;
        const std::size_t counts[] = {2, 2, 2};
        std::int32_t mine[] = {1, 2}, all[6] = {};
        check(second ? stretto_allgatherv(comm, mine, all, counts, STRETTO_INT32)
                     : stretto_allgather(comm, mine, all, 2, STRETTO_INT32));
        CHECK(all[5] == 2);
        const std::size_t nothing[] = {0, 0, 0};
        check(stretto_allgatherv(comm, nullptr, nullptr, nothing, STRETTO_INT32));
        check(stretto_reduce_scatterv(comm, nullptr, nullptr, nothing, STRETTO_INT32, STRETTO_SUM));
    });
}

TEST_CASE("a rank whose part is empty needs no buffer for it") {
    test::with_ranks(3, [](stretto_comm comm) {
        const std::size_t counts[] = {1, 0, 2};
        const int rank = stretto_rank(comm);
        std::int32_t mine[] = {10 * rank, 10 * rank + 1}, all[3] = {};
        check(stretto_allgatherv(comm, rank == 1 ? nullptr : mine, all, counts, STRETTO_INT32));
        CHECK(all[0] == 0);
        CHECK(all[1] == 20);
        CHECK(all[2] == 21);
        std::int32_t sum[2] = {};
        check(stretto_reduce_scatterv(comm, all, rank == 1 ? nullptr : sum, counts, STRETTO_INT32,
                                      STRETTO_SUM));
        CHECK(sum[1] == (rank == 2 ? 63 : 0));
    });
}

TEST_CASE("ranks whose counts differ get a mismatch") {
    // The same sum; other sums; and equal counts on one side.
    for (const auto &[first, second] :
         std::vector<std::pair<std::vector<std::size_t>, std::vector<std::size_t>>>{
             {{3, 4, 5}, {3, 5, 4}}, {{3, 4, 5}, {3, 4, 6}}, {{4, 4, 4}, {3, 4, 5}}})
        test::with_ranks(3, [&](stretto_comm comm) {
            const int rank = stretto_rank(comm);
            const std::vector<std::size_t> &counts = rank == 1 ? second : first;
            std::vector<double> mine(10), all(20);
            const stretto_status status =
                stretto_allgatherv(comm, mine.data(), all.data(), counts.data(), STRETTO_FLOAT64);
            CHECK(status == STRETTO_ERR_MISMATCH);
            const bool equal = first[0] == first[1];
            CHECK(contains(stretto_last_error(), "rank 1"));
            CHECK(contains(stretto_last_error(), "allgatherv("));
            CHECK(contains(stretto_last_error(), equal ? "allgather(4 x float64)" : "counts 3 "));
            if (!equal)
                CHECK(contains(stretto_last_error(), "counts that differ from those of rank "));
        });
}

TEST_CASE("counts that follow one another are kept apart") {
    test::with_ranks(2, [](stretto_comm comm) {
        const auto rank = static_cast<std::size_t>(stretto_rank(comm));
        std::vector<std::int64_t> mine(1000), all(1000);
        for (std::size_t turn = 0; turn < 600; ++turn) {
            const std::size_t counts[] = {turn % 300, 300 - turn % 300}; // always 300 in all
            for (std::size_t i = 0; i < counts[rank]; ++i)
                mine[i] = static_cast<std::int64_t>(1000 * turn + 500 * rank + i);
            check(stretto_allgatherv(comm, mine.data(), all.data(), counts, STRETTO_INT64));
            for (std::size_t i = 0; i < 300; i += 37) {
                const std::size_t owner = i < counts[0] ? 0 : 1;
                const std::size_t place = 500 * owner + i - (owner == 1 ? counts[0] : 0);
                REQUIRE(all[i] == static_cast<std::int64_t>(1000 * turn + place));
            }
        }
    });
}

TEST_CASE("wrong arguments are refused before anything is sent") {
    test::with_ranks(2, [](stretto_comm comm) {
        const bool root = stretto_rank(comm) == 0;
        std::int32_t send[4] = {1, 2, 3, 4}, recv[4] = {};
        const auto refused = [](stretto_status status, const std::string &why) {
            CHECK(status == STRETTO_ERR_ARGUMENT);
            CHECK(contains(stretto_last_error(), why));
        };
        const stretto_dtype type = STRETTO_INT32;
        refused(stretto_gather(comm, send, recv, 1, type, 2), "root");
        refused(stretto_scatter(comm, send, nullptr, 1, type, 0), "receive buffer is NULL");
        refused(stretto_alltoall(comm, nullptr, recv, 1, type), "send buffer is NULL");
        refused(stretto_alltoall(comm, send, send, 1, type), "STRETTO_IN_PLACE");
        refused(stretto_alltoall(comm, STRETTO_IN_PLACE, nullptr, 1, type),
                "receive buffer is NULL");
        refused(stretto_allgatherv(comm, send, recv, nullptr, type), "counts are NULL");
        const std::size_t most = std::numeric_limits<std::size_t>::max();
        const std::size_t huge[] = {most / 16, 1}, wraps[] = {most, 2};
        refused(stretto_allgatherv(comm, send, recv, huge, type), "too large");
        refused(stretto_reduce_scatterv(comm, send, recv, wraps, type, STRETTO_SUM), "too large");
        if (root) {
            refused(stretto_gather(comm, send, nullptr, 1, type, 0), "receive buffer is NULL");
            refused(stretto_scatter(comm, nullptr, recv, 1, type, 0), "send buffer is NULL");
            refused(stretto_scatter(comm, STRETTO_IN_PLACE, recv, 1, type, 0), "stands for recv");
            refused(stretto_scatter(comm, send, send, 1, type, 0), "STRETTO_IN_PLACE");
        } else {
            refused(stretto_gather(comm, STRETTO_IN_PLACE, recv, 1, type, 0), "root only");
            refused(stretto_scatter(comm, send, kKeep, 1, type, 0), "root of a scatter");
        }
        // The communicator is as good as new; buffers without meaning may be NULL.
        check(stretto_gather(comm, send, root ? recv : nullptr, 1, type, 0));
        check(stretto_scatter(comm, root ? send : nullptr, recv, 1, type, 0));
        CHECK(recv[0] == (root ? 1 : 2));
        check(stretto_scatter(comm, root ? send : nullptr, root ? kKeep : recv, 2, type, 0));
        CHECK(recv[0] == (root ? 1 : 3));
    });
}

TEST_CASE("a root that differs, and a collective that differs") {
    test::with_ranks(3, [](stretto_comm comm) {
        std::int32_t send[3] = {}, recv[3] = {};
        const bool odd = stretto_rank(comm) == 2;
        // Rank 0 need not wait for anybody to be through with its gather.
        stretto_status status = stretto_gather(comm, send, recv, 1, STRETTO_INT32, odd ? 2 : 1);
        if (stretto_rank(comm) == 0 && status == STRETTO_OK)
            status = stretto_barrier(comm);
        CHECK(status == STRETTO_ERR_MISMATCH);
        CHECK(contains(stretto_last_error(), "gather(1 x int32, root 1)"));
        CHECK(contains(stretto_last_error(), "gather(1 x int32, root 2)"));
    });
    test::with_ranks(3, [](stretto_comm comm) {
        std::int32_t send[3] = {}, recv[3] = {};
        const bool odd = stretto_rank(comm) == 0;
        CHECK((odd ? stretto_alltoall(comm, send, recv, 1, STRETTO_INT32)
                   : stretto_allgather(comm, send, recv, 1, STRETTO_INT32)) ==
              STRETTO_ERR_MISMATCH);
        CHECK(contains(stretto_last_error(), "alltoall(1 x int32) on rank 0"));
    });
}
