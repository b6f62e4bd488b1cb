// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "engine/ranges.hpp"

using stretto::engine::PassIndices;
using stretto::engine::Ranges;
using Passes = std::vector<std::int32_t>;

static Passes sorted(const PassIndices &indices) {
    Passes passes(indices.begin(), indices.end());
    std::sort(passes.begin(), passes.end());
    passes.erase(std::unique(passes.begin(), passes.end()), passes.end());
    return passes;
}

TEST_CASE("readers come after the writer, writers after all readers since") {
    Ranges ranges;
    PassIndices after;
    ranges.write(0, 100, 0, after, [](std::int32_t, std::size_t) {});
    CHECK(after.empty());
    ranges.read(50, 100, 1, after); // half of it was never written
    CHECK(sorted(after) == Passes{0});
    after.clear();
    ranges.read(0, 10, 2, after);
    after.clear();
    ranges.write(40, 20, 3, after, [](std::int32_t, std::size_t) {});
    CHECK(sorted(after) == Passes{0, 1}); // 0 of what nobody has read
    bool unread = false;
    CHECK(ranges.sole_writer(40, 20, unread) == 3);
    CHECK(unread);
    CHECK(ranges.sole_writer(30, 20, unread) == -1);
    CHECK(ranges.sole_writer(0, 10, unread) == 0);
    CHECK_FALSE(unread);
}

TEST_CASE("the map agrees with one that knows every byte") {
    std::mt19937 random(7);
    constexpr std::size_t kBytes = 64;
    Ranges ranges;
    std::vector<std::int32_t> writer(kBytes, -1);
    std::vector<Passes> readers(kBytes);
    std::map<std::int32_t, std::size_t> overwritten, counted;
    for (std::int32_t pass = 0; pass < 2000; ++pass) {
        const std::size_t from = random() % kBytes;
        const std::size_t length = random() % (kBytes - from) + 1;
        const bool writes = random() % 2 == 0;
        PassIndices after, expected;
        for (std::size_t i = from; i < from + length; ++i) {
            const bool unread = readers[i].empty();
            if (writer[i] >= 0 && (!writes || unread)) // readers wait for it as well
                expected.push_back(writer[i]);
            if (writes) {
                if (writer[i] >= 0)
                    ++overwritten[writer[i]];
                expected.insert(readers[i].begin(), readers[i].end());
                writer[i] = pass;
                readers[i].clear();
            } else {
                readers[i].push_back(pass);
            }
        }
        if (writes)
            ranges.write(from, length, pass, after, [&](std::int32_t earlier, std::size_t bytes) {
                counted[earlier] += bytes;
            });
        else
            ranges.read(from, length, pass, after);
        REQUIRE(sorted(after) == sorted(expected));
    }
    CHECK(counted == overwritten);
}
