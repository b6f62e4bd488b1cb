// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <numeric>
#include <vector>

#include "base/inline_vector.hpp"

using List = stretto::InlineVector<int, 2>;

static List counting(int size) {
    List list;
    for (int i = 0; i < size; ++i)
        list.push_back(i);
    return list;
}

static std::vector<int> read(const List &list) {
    return {list.begin(), list.end()};
}

static std::vector<int> expected(int size) {
    std::vector<int> values(static_cast<std::size_t>(size));
    std::iota(values.begin(), values.end(), 0);
    return values;
}

TEST_CASE("an inline vector keeps its elements, few or many, copied or moved") {
    for (const int size : {0, 1, 2, 3, 4, 5, 17}) {
        for (const int other : {0, 1, 2, 3, 9}) {
            CAPTURE(size);
            CAPTURE(other);
            List list = counting(size);
            CHECK(read(list) == expected(size));
            List copy = counting(other);
            copy = list;
            CHECK(read(copy) == expected(size));
            CHECK(read(list) == expected(size));
            List moved = counting(other);
            moved = std::move(list);
            CHECK(read(moved) == expected(size));
            list = counting(other); // what was moved from can be used again
            list.push_back(other);
            CHECK(read(list) == expected(other + 1));
            CHECK(read(moved) == expected(size));
            const List made = std::move(moved);
            CHECK(read(made) == expected(size));
        }
    }
}

TEST_CASE("an inline vector grows by its own elements and by ranges, and is cut") {
    List list = counting(2);
    list.push_back(list[1]); // moves the element while it is read
    CHECK(read(list) == std::vector<int>{0, 1, 1});
    const std::vector<int> more{7, 8, 9};
    list.insert(more.begin(), more.end());
    CHECK(read(list) == std::vector<int>{0, 1, 1, 7, 8, 9});
    list.truncate(list.begin() + 4);
    CHECK(read(list) == std::vector<int>{0, 1, 1, 7});
    CHECK(list.back() == 7);
    list.clear();
    CHECK(list.empty());
}
