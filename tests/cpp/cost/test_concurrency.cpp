// SPDX-License-Identifier: BSD-3-Clause
// What pairs of ranks move at the same time: the measured table between its entries.
#include "doctest.h"

#include <algorithm>
#include <cstddef>

#include "base/status.hpp"
#include "cost/concurrency.hpp"

using namespace stretto;
using cost::Concurrency;
using cost::relative_throughput;

namespace {

const Concurrency kTable{
    .pairs = {1, 2, 8},
    .rows = {{4, 1e6, {1, 2, 8}}, {64, 1.6e7, {1, 1.5, 4}}, {1 << 20, 1e9, {1, 1, 0.5}}},
    .how = ""};

doctest::Approx within(double value) {
    return doctest::Approx(value).epsilon(1e-12).scale(0);
}

} // namespace

TEST_CASE("what was measured is as it was measured") {
    for (const Concurrency::Row &row : kTable.rows) {
        for (std::size_t i = 0; i < kTable.pairs.size(); ++i) {
            CHECK(relative_throughput(kTable, kTable.pairs[i], row.bytes) ==
                  within(row.relative[i]));
            CHECK(cost::throughput(kTable, kTable.pairs[i], row.bytes) ==
                  within(row.throughput * row.relative[i]));
        }
    }
}

TEST_CASE("between two entries it is linear in pairs and octaves, and the same bits everywhere") {
    // 5 pairs are half-way between 2 and 8; 16 bytes are between 4 and 64, 12 between 8 and 16.
    CHECK(relative_throughput(kTable, 5, 4) == 5);
    CHECK(relative_throughput(kTable, 5, 64) == (1.5 + 4) / 2);
    CHECK(relative_throughput(kTable, 2, 16) == (2 + 1.5) / 2);
    CHECK(relative_throughput(kTable, 2, 12) == 2 - 0.5 * 1.5 / 4);
    CHECK(relative_throughput(kTable, 5, 16) == (5 + 2.75) / 2);
    CHECK(cost::throughput(kTable, 1, 16) == (1e6 + 1.6e7) / 2);
    for (const std::size_t bytes : {1u, 5u, 100u, 1u << 19, 1u << 30})
        CHECK(relative_throughput(kTable, 1, bytes) == within(1));
}

TEST_CASE("beyond the table its ends count") {
    for (const int pairs : {8, 9, 1000}) {
        CHECK(relative_throughput(kTable, pairs, 64) == within(4));
        CHECK(relative_throughput(kTable, pairs, 0) == within(8));
        CHECK(relative_throughput(kTable, pairs, 1) == within(8));
        CHECK(relative_throughput(kTable, pairs, std::size_t{1} << 40) == within(0.5));
    }
    CHECK(cost::throughput(kTable, 1, 0) == within(1e6));
    CHECK(cost::throughput(kTable, 100, std::size_t{1} << 60) == within(5e8));
}

TEST_CASE("it lies between its neighbours") {
    for (int pairs = 1; pairs < 12; ++pairs)
        for (std::size_t bytes = 1; bytes < 1 << 22; bytes = bytes * 5 / 4 + 1) {
            const double found = relative_throughput(kTable, pairs, bytes);
            CHECK(found <= std::min(8, pairs) * (1 + 1e-12));
            CHECK(found >= 0.5 * (1 - 1e-12));
            // Here more bytes never share better.
            CHECK(relative_throughput(kTable, pairs, bytes + 1) <= found * (1 + 1e-12));
        }
}

TEST_CASE("the most that any number of pairs moves") {
    CHECK(cost::most_throughput(kTable, 8, 4) == 8);
    CHECK(cost::most_throughput(kTable, 5, 4) == 5);
    CHECK(cost::most_throughput(kTable, 8, 1 << 20) == 1); // eight disturb one another
    CHECK(cost::most_throughput(kTable, 1, 64) == 1);
}

TEST_CASE("a table of one entry says the same everywhere") {
    const Concurrency one{.pairs = {1}, .rows = {{4096, 7e8, {1}}}, .how = ""};
    CHECK(relative_throughput(one, 64, 1) == 1);
    CHECK(cost::throughput(one, 64, 1 << 30) == 7e8);
}

TEST_CASE("nothing measured, and no pairs, are refused") {
    CHECK(!Concurrency{}.measured());
    CHECK_THROWS_AS(relative_throughput({}, 1, 4), Error);
    CHECK_THROWS_AS(cost::throughput({}, 1, 4), Error);
    CHECK_THROWS_AS(relative_throughput(kTable, 0, 4), Error);
    CHECK_THROWS_AS(relative_throughput(kTable, -1, 4), Error);
}
