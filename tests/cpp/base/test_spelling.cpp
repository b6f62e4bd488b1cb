// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <array>

#include "base/spelling.hpp"

using namespace stretto;

TEST_CASE("edit distance") {
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("", "abc") == 3);
    CHECK(edit_distance("abc", "") == 3);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("ab", "ba") == 1);  // neighbours exchanged
    CHECK(edit_distance("ca", "abc") == 3); // no part is changed twice
    CHECK(edit_distance("timeout", "timeuot") == 1);
}

TEST_CASE("the nearest word") {
    constexpr std::array<std::string_view, 3> words = {"ring", "direct", "binomial"};
    CHECK(nearest_word("rnig", words) == "ring");
    CHECK(nearest_word("bimonial", words) == "binomial");
    CHECK(nearest_word("", words) == "ring");
    CHECK(nearest_word("x", {}) == "");
    CHECK(nearest_word(std::string(1'000'000, 'r'), words) != "");
}

TEST_CASE("shown texts are printable") {
    CHECK(shown("a\tb\x7f\xff") == "a?b??");
    CHECK(shown(std::string(80, 'x')) == std::string(80, 'x'));
    CHECK(shown(std::string(81, 'x')) == std::string(80, 'x') + "...");
}
