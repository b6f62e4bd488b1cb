// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/number_map.hpp"
#include "doctest.h"

using stretto::NumberMap;

TEST_CASE("a table by numbers finds what was put into it, and nothing else") {
    // Keys that lie close together, that differ in their high bits only, and any.
    std::minstd_rand random(7);
    for (const int kind : {0, 1, 2})
        for (const std::size_t count : {0U, 1U, 7U, 8U, 9U, 1000U, 50000U}) {
            NumberMap<std::string> table;
            std::unordered_map<std::uint64_t, std::string> expected;
            std::vector<std::uint64_t> order;
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint64_t any = std::uint64_t{random()} << 33 ^ random();
                const std::uint64_t key = kind == 0 ? i / 2 : kind == 1 ? i << 32 : any;
                const auto [value, fresh] = table.try_emplace(key, std::to_string(i));
                CHECK(fresh == expected.try_emplace(key, std::to_string(i)).second);
                CHECK(value == expected[key]);
                if (fresh)
                    order.push_back(key);
            }
            CHECK(table.entries().size() == expected.size());
            CHECK(
                std::equal(order.begin(), order.end(), table.entries().begin(),
                           [](std::uint64_t key, const auto &entry) { return key == entry.key; }));
            bool all = true;
            for (const auto &[key, value] : expected) {
                const std::string *const found = table.find(key);
                all = all && found != nullptr && *found == value;
                all = all && (expected.contains(~key) || table.find(~key) == nullptr);
            }
            CHECK(all);
        }
}

TEST_CASE("a table by numbers makes a value where a key is new, of any key") {
    NumberMap<int> table;
    CHECK(table.find(0) == nullptr);
    for (const std::uint64_t key :
         {std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(), std::uint64_t{1} << 63}) {
        CHECK(table[key] == 0);
        table[key] = 3;
        CHECK(*table.find(key) == 3);
    }
    CHECK(table.entries().size() == 3);
}
