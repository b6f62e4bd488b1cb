// SPDX-License-Identifier: BSD-3-Clause
// How often a memo looks something up, and how often it makes it.
#include "doctest.h"

#include <cstddef>
#include <string>

#include "base/memo.hpp"

namespace {

std::size_t look_ups = 0;

struct CountingHash {
    std::size_t operator()(int key) const {
        ++look_ups;
        return static_cast<std::size_t>(key);
    }
};

} // namespace

TEST_CASE("a repeated key is one look-up, the last key none") {
    stretto::Memo<int, std::string, CountingHash> memo;
    int made = 0;
    const auto get = [&](int key) -> std::string & {
        return memo.get(key, [&] {
            ++made;
            return std::to_string(key);
        });
    };
    const std::string &zero = get(0);
    for (int key = 1; key < 1000; ++key) // it grows meanwhile
        CHECK(get(key) == std::to_string(key));
    CHECK(made == 1000);
    for (int round = 0; round < 3; ++round)
        for (const int key : {0, 7, 999}) {
            look_ups = 0;
            CHECK(get(key) == std::to_string(key));
            CHECK(look_ups == 1);
            for (int again = 0; again < 5; ++again)
                (void)get(key);
            CHECK(look_ups == 1);
        }
    CHECK(&get(0) == &zero);
    CHECK(made == 1000);
}

TEST_CASE("a dropped value is made again") {
    stretto::Memo<int, std::string, CountingHash> memo;
    int made = 0;
    const auto get = [&](int key) {
        return memo.get(key, [&] { return std::to_string(key) + "." + std::to_string(++made); });
    };
    CHECK_FALSE(memo.has(1));
    CHECK(get(1) == "1.1");
    CHECK(get(5) == "5.2");
    CHECK((memo.has(1) && memo.has(5) && !memo.has(2)));
    memo.clear();
    CHECK_FALSE((memo.has(1) || memo.has(5)));
    CHECK(memo.begin() == memo.end());
    CHECK(get(1) == "1.3");
    CHECK(memo.get(2, [&] {
        memo.clear(); // to make room
        return std::string("2");
    }) == "2");
    CHECK(get(1) == "1.4");
    CHECK(get(2) == "2");
}

TEST_CASE("a value that cannot be made leaves all as it was") {
    stretto::Memo<int, std::string, CountingHash> memo;
    CHECK(memo.get(1, [] { return std::string("one"); }) == "one");
    CHECK_THROWS_AS(memo.get(2, []() -> std::string { throw 2; }), int);
    CHECK(memo.get(1, [] { return std::string("another"); }) == "one");
    CHECK(memo.get(2, [] { return std::string("two"); }) == "two");
}
