// SPDX-License-Identifier: BSD-3-Clause
// Elements that only operations of the caller's own understand.
#include "doctest.h"

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/buffer.hpp"
#include "support/oracle.hpp"
#include "support/text.hpp"
#include "support/world.hpp"

using test::check;
using test::contains;

namespace {

std::atomic<int> wrong_calls{0};

class Op {
public:
    Op(stretto_op_function function, void *context) {
        check(stretto_op_create(function, context, false, &op_));
    }
    ~Op() { check(stretto_op_free(op_)); }
    Op(const Op &) = delete;
    Op &operator=(const Op &) = delete;
    operator stretto_op() const { return op_; }

private:
    stretto_op op_ = STRETTO_SUM;
};

// An element of `bytes` bytes: bytes 0 and 1 hold a map x -> a * x + b modulo 256, which composes
// in one order only; all others are sums modulo 256.  What has one byte is a sum.
void compose_records(const void *in, void *inout, std::size_t count, stretto_dtype dtype,
                     void *context) {
    const auto bytes = static_cast<std::size_t>(dtype - STRETTO_RECORDS);
    wrong_calls += bytes != *static_cast<const std::size_t *>(context);
    const auto *left = static_cast<const std::uint8_t *>(in);
    auto *right = static_cast<std::uint8_t *>(inout);
    for (std::size_t at = 0; at < count * bytes; at += bytes) {
        const std::uint8_t *const a = left + at;
        std::uint8_t *const b = right + at;
        if (bytes > 1) {
            b[1] = static_cast<std::uint8_t>(a[1] * b[0] + b[1]);
            b[0] = static_cast<std::uint8_t>(a[0] * b[0]);
        }
        for (std::size_t k = bytes > 1 ? 2 : 0; k < bytes; ++k)
            b[k] = static_cast<std::uint8_t>(a[k] + b[k]);
    }
}

std::vector<std::uint8_t> records_of(int rank, std::size_t first, std::size_t count,
                                     std::size_t bytes) {
    std::vector<std::uint8_t> records(count * bytes);
    for (std::size_t i = 0; i < records.size(); ++i)
        records[i] = static_cast<std::uint8_t>(test::mixed(rank, first * bytes + i));
    return records;
}

// What ranks 0, 1, ... together have of these elements.
std::vector<std::uint8_t> composed_records(int ranks, std::size_t first, std::size_t count,
                                           std::size_t bytes) {
    std::vector<std::uint8_t> left = records_of(0, first, count, bytes);
    for (int rank = 1; rank < ranks; ++rank) {
        std::vector<std::uint8_t> right = records_of(rank, first, count, bytes);
        std::size_t context = bytes;
        compose_records(left.data(), right.data(), count, STRETTO_RECORD(static_cast<int>(bytes)),
                        &context);
        left = std::move(right);
    }
    return left;
}

} // namespace

TEST_CASE("records are reduced whole, however long they are") {
    for (std::size_t bytes : {1, 3, 12, 16, 24, 100, 4095, 4096}) {
        CAPTURE(bytes);
        const Op op(&compose_records, &bytes);
        for (const int ranks : {1, 2, 3, 5, 8})
            test::with_ranks(ranks, [&](stretto_comm comm) {
                const int rank = stretto_rank(comm);
                const auto size = static_cast<std::size_t>(ranks);
                const stretto_dtype dtype = STRETTO_RECORD(static_cast<int>(bytes));
                // Several slices' worth, and as many as do not divide evenly.
                for (const std::size_t count :
                     {std::size_t{0}, std::size_t{1}, size + 1, 300'007 / bytes}) {
                    CAPTURE(count);
                    std::vector<std::uint8_t> mine = records_of(rank, 0, count, bytes);
                    std::vector<std::uint8_t> result(mine.size());
                    check(stretto_allreduce(comm, mine.data(), result.data(), count, dtype, op));
                    CHECK(result == composed_records(ranks, 0, count, bytes));
                    check(stretto_reduce(comm, mine.data(), result.data(), count, dtype, op, 0));
                    if (rank == 0)
                        CHECK(result == composed_records(ranks, 0, count, bytes));
                    const std::size_t part = count / size;
                    result.assign(part * bytes, 0);
                    check(
                        stretto_reduce_scatter(comm, mine.data(), result.data(), part, dtype, op));
                    CHECK(result == composed_records(ranks, part * static_cast<std::size_t>(rank),
                                                     part, bytes));
                }
            });
    }
    CHECK(wrong_calls == 0);
}

TEST_CASE("records have no operations but the program's own, and no length that is not theirs") {
    test::with_ranks(2, [](stretto_comm comm) {
        std::uint8_t value[8192] = {};
        CHECK(stretto_allreduce(comm, STRETTO_IN_PLACE, value, 1, STRETTO_RECORD(12),
                                STRETTO_SUM) == STRETTO_ERR_ARGUMENT);
        CHECK(contains(stretto_last_error(), "there is no sum of record of 12 bytes"));
        for (const int bytes : {0, 4097, -1})
            CHECK(stretto_broadcast(comm, value, 1, STRETTO_RECORD(bytes), 0) ==
                  STRETTO_ERR_ARGUMENT);
        value[0] = stretto_rank(comm) == 0 ? 7 : 0;
        check(stretto_broadcast(comm, value, 1, STRETTO_RECORD(4096), 0));
        CHECK(value[0] == 7);
        // Ranks that disagree are told of both lengths.
        CHECK(stretto_allgather(comm, value, value + 4096, 2,
                                STRETTO_RECORD(12 + 4 * stretto_rank(comm))) ==
              STRETTO_ERR_MISMATCH);
        CHECK(contains(stretto_last_error(), "2 x record of 12 bytes"));
        CHECK(contains(stretto_last_error(), "2 x record of 16 bytes"));
    });
}
