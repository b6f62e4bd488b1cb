// SPDX-License-Identifier: BSD-3-Clause
// Several vectors that are reduced as one.
#include "doctest.h"

#include <cstdint>
#include <string>
#include <vector>

#include "support/text.hpp"
#include "support/world.hpp"

using test::check;

namespace {

// Sizes of the parts: none, small ones, and enough that a call of all is cut into slices.
const std::vector<std::vector<std::size_t>> kBatches = {
    {}, {0}, {1}, {3, 0, 5}, {1, 2, 3, 4, 5, 6, 7}, {70'001, 1, 33'000}};

float contribution(int rank, std::size_t part, std::size_t i) {
    return static_cast<float>((i + 3 * part) % 100 + static_cast<std::size_t>(rank));
}

struct Vectors {
    std::vector<std::vector<float>> send, recv;
    std::vector<stretto_part> parts;

    // Every second one in place.
    Vectors(const std::vector<std::size_t> &sizes, int rank)
        : send(sizes.size()), recv(sizes.size()) {
        for (std::size_t part = 0; part < sizes.size(); ++part) {
            for (std::size_t i = 0; i < sizes[part]; ++i)
                send[part].push_back(contribution(rank, part, i));
            const bool in_place = part % 2 == 1;
            recv[part] = in_place ? send[part] : std::vector<float>(sizes[part], -1);
            parts.push_back(
                {in_place ? STRETTO_IN_PLACE : send[part].data(), recv[part].data(), sizes[part]});
        }
    }
    std::size_t wrong(int ranks, float divisor = 1) const {
        std::size_t result = 0;
        for (std::size_t part = 0; part < recv.size(); ++part)
            for (std::size_t i = 0; i < recv[part].size(); ++i) {
                float sum = 0;
                for (int rank = 0; rank < ranks; ++rank)
                    sum += contribution(rank, part, i);
                result += recv[part][i] != sum / divisor;
            }
        return result;
    }
};

std::uint64_t calls(stretto_comm comm) {
    stretto_stat line{};
    std::size_t count = 0;
    check(stretto_stats(comm, &line, 1, &count));
    return count == 0 ? 0 : line.calls;
}

} // namespace

TEST_CASE("a batch is one allreduce of all its vectors") {
    for (const int ranks : {1, 2, 4})
        test::with_ranks(ranks, [&](stretto_comm comm) {
            for (const std::vector<std::size_t> &sizes : kBatches) {
                check(stretto_stats_reset(comm));
                Vectors blocking(sizes, stretto_rank(comm)), started(sizes, stretto_rank(comm));
                check(stretto_allreduce_batch(comm, blocking.parts.data(), sizes.size(),
                                              STRETTO_FLOAT32, STRETTO_SUM));
                CHECK(blocking.wrong(ranks) == 0);
                CHECK(calls(comm) == 1);
                stretto_request request = nullptr;
                check(stretto_iallreduce_batch(comm, started.parts.data(), sizes.size(),
                                               STRETTO_FLOAT32, STRETTO_SUM, &request));
                started.parts.clear();
                check(stretto_wait(&request));
                CHECK(started.wrong(ranks) == 0);
            }
        });
}

TEST_CASE("a batch takes averages, and created operations that are freed while it runs") {
    test::with_ranks(4, [](stretto_comm comm) {
        Vectors averaged({5, 6, 7}, stretto_rank(comm)), doubled({5, 6, 7}, stretto_rank(comm));
        check(
            stretto_allreduce_batch(comm, averaged.parts.data(), 3, STRETTO_FLOAT32, STRETTO_AVG));
        CHECK(averaged.wrong(4, 4) == 0);
        const float half = 0.5F;
        stretto_op op{};
        check(stretto_op_create_premul_sum(&half, STRETTO_FLOAT32, &op));
        stretto_request request = nullptr;
        check(
            stretto_iallreduce_batch(comm, doubled.parts.data(), 3, STRETTO_FLOAT32, op, &request));
        check(stretto_op_free(op));
        check(stretto_wait(&request));
        CHECK(doubled.wrong(4, 2) == 0);
    });
}

TEST_CASE("where blocking and nonblocking calls match, so do batches") {
    test::with_ranks(2, [](stretto_comm comm) {
        check(stretto_set_mixed(comm, 1));
        Vectors vectors({5, 6}, stretto_rank(comm));
        if (stretto_rank(comm) == 0) {
            check(stretto_allreduce_batch(comm, vectors.parts.data(), 2, STRETTO_FLOAT32,
                                          STRETTO_SUM));
        } else {
            stretto_request request = nullptr;
            check(stretto_iallreduce_batch(comm, vectors.parts.data(), 2, STRETTO_FLOAT32,
                                           STRETTO_SUM, &request));
            check(stretto_wait(&request));
        }
        CHECK(vectors.wrong(2) == 0);
    });
}

TEST_CASE("a batch of other sizes, and vectors that overlap, are errors") {
    test::with_ranks(1, [](stretto_comm comm) {
        std::vector<std::int32_t> data(10);
        const auto refused = [&](const stretto_part &first, const stretto_part &second) {
            const stretto_part parts[] = {first, second};
            CHECK(stretto_allreduce_batch(comm, parts, 2, STRETTO_INT32, STRETTO_SUM) ==
                  STRETTO_ERR_ARGUMENT);
        };
        refused({STRETTO_IN_PLACE, data.data(), 6}, {STRETTO_IN_PLACE, data.data() + 5, 5});
        refused({data.data(), data.data() + 3, 4}, {STRETTO_IN_PLACE, data.data() + 8, 2});
        refused({nullptr, data.data(), 1}, {STRETTO_IN_PLACE, data.data() + 8, 2});
        refused({STRETTO_IN_PLACE, nullptr, 1}, {STRETTO_IN_PLACE, data.data() + 8, 2});
        CHECK(stretto_allreduce_batch(comm, nullptr, 1, STRETTO_INT32, STRETTO_SUM) ==
              STRETTO_ERR_ARGUMENT);
    });
    CHECK_THROWS_WITH(test::with_ranks(2,
                                       [](stretto_comm comm) {
                                           std::int32_t data[4] = {};
                                           const stretto_part part{
                                               STRETTO_IN_PLACE, data,
                                               static_cast<std::size_t>(stretto_rank(comm) + 2)};
                                           check(stretto_allreduce_batch(
                                               comm, &part, 1, STRETTO_INT32, STRETTO_SUM));
                                       }),
                      doctest::Contains("allreduce(3 x int32, sum) on rank 1"));
}
