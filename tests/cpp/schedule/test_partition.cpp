// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "base/status.hpp"
#include "schedule/partition.hpp"

using namespace stretto::schedule;
using stretto::Error;
using Bounds = std::vector<std::size_t>;

TEST_CASE("even blocks: the first are one element longer") {
    CHECK(Partition::even(3).bounds(10) == Bounds{0, 4, 7, 10});
    CHECK(Partition::even(4).bounds(2) == Bounds{0, 1, 2, 2, 2});
    CHECK(Partition::even(3).bounds(0) == Bounds{0, 0, 0, 0});
    CHECK(Partition().bounds(5) == Bounds{0, 5});
    const std::size_t large = std::numeric_limits<std::size_t>::max();
    CHECK(Partition::even(2).bounds(large) == Bounds{0, large / 2 + 1, large});
}

TEST_CASE("weights: boundaries at the floor of the share, with 64-bit counts") {
    CHECK(Partition::weighted({1, 2, 4}).bounds(10) == Bounds{0, 1, 4, 10});
    CHECK(Partition::weighted({0, 3, 0, 1}).bounds(7) == Bounds{0, 0, 5, 5, 7});
    CHECK(Partition::weighted({5, 5}) == Partition::even(2));
    const std::size_t large = std::size_t{1} << 62;
    CHECK(Partition::weighted({1, 3}).bounds(large) == Bounds{0, large / 4, large});
    const std::uint64_t heavy = std::uint64_t{1} << 62;
    CHECK(Partition::weighted({heavy, heavy, 2 * heavy - 1}).bounds(4) == Bounds{0, 1, 2, 4});
}

TEST_CASE("refine cuts each block of the outer partition") {
    const Partition chunks = Partition::even(2).refine(3); // 11 = 6 + 5 = 2 2 2 + 2 2 1
    CHECK(chunks.blocks() == 6);
    CHECK(chunks.bounds(11) == Bounds{0, 2, 4, 6, 8, 10, 11});
    const Partition unequal = Partition::even(2).refine(Partition::weighted({1, 3}));
    CHECK(unequal.bounds(9) == Bounds{0, 1, 5, 6, 9});
    const Partition deep = Partition::even(2).refine(2).refine(2);
    for (const std::size_t count : {0, 1, 7, 8, 9, 1009}) {
        const Bounds bounds = deep.bounds(count);
        REQUIRE(bounds.size() == 9);
        CHECK(bounds.front() == 0);
        CHECK(bounds.back() == count);
        for (std::size_t b = 0; b < 8; ++b)
            CHECK(bounds[b] <= bounds[b + 1]);
    }
}

TEST_CASE("equal blocks hold for multiples only") {
    const Partition partition = Partition::equal(3).refine(2);
    CHECK(partition.quantum() == 3);
    CHECK(partition.bounds(9) == Bounds{0, 2, 3, 5, 6, 8, 9});
    CHECK_THROWS_AS(partition.bounds(10), Error);
    CHECK(Partition::even(2).refine(Partition::equal(3)).quantum() == 6);
    CHECK(Partition::equal(2).refine(Partition::equal(3)).quantum() == 6);
    CHECK_THROWS_AS(Partition::weighted({1, 2}).refine(Partition::equal(3)), Error);
}

// What same_size claims must hold for every count; what it denies for labels on even levels is
// refuted by some count.
TEST_CASE("same_size agrees with the sizes of many counts") {
    const std::vector<Partition> partitions = {
        Partition::even(5),
        Partition::equal(5),
        Partition::even(3).refine(2),
        Partition::equal(3).refine(2),
        Partition::equal(2).refine(Partition::equal(3)),
        Partition::even(2).refine(Partition::equal(3)),
        Partition::even(2).refine(Partition::equal(2)).refine(3),
        Partition::weighted({0, 1, 0, 2}),
        Partition::even(2).refine(Partition::weighted({0, 1, 3})),
    };
    for (const Partition &partition : partitions)
        for (Block a = 0; a < partition.blocks(); ++a)
            for (Block b = 0; b < partition.blocks(); ++b) {
                bool always = true;
                for (std::size_t multiple = 0; multiple < 40; ++multiple) {
                    const Bounds bounds = partition.bounds(multiple * partition.quantum());
                    const auto size = [&](Block block) {
                        const auto index = static_cast<std::size_t>(block);
                        return bounds[index + 1] - bounds[index];
                    };
                    always = always && size(a) == size(b);
                }
                CAPTURE(a);
                CAPTURE(b);
                CHECK(partition.same_size(a, b) == always);
            }
}

TEST_CASE("impossible partitions are refused") {
    CHECK_THROWS_AS(Partition::even(0), Error);
    CHECK_THROWS_AS(Partition::even(-3), Error);
    CHECK_THROWS_AS(Partition::weighted({}), Error);
    CHECK_THROWS_AS(Partition::weighted({0, 0}), Error);
    CHECK_THROWS_AS(Partition::weighted({std::numeric_limits<std::uint64_t>::max(), 1}), Error);
    CHECK_THROWS_AS(Partition::even(1 << 16).refine(1 << 16), Error);
}
