// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include "schedule/json.hpp"
#include "support/schedules.hpp"

using namespace stretto::test;

TEST_CASE("one op a line") {
    CHECK(to_text(send(3, {0, 1, 2, 7}, kWork, 2)) == "send to 3: work[0-2,7] lane 2");
    CHECK(to_text(recv(1, {4, 5}, 2)) == "recv from 1: s2[4,5] = incoming");
    CHECK(to_text(recv_reduce(1, {4}, Side::left)) == "recv from 1: work[4] = incoming op work");
    CHECK(to_text(reduce({1, kWork, 2}, {0}, 3)) == "reduce: s3[0] = s1 op work op s2");
    Op moved = copy({0, 1}, 1, kWork);
    moved.targets = {2, 3};
    moved.after = {0, 4};
    CHECK(to_text(moved) == "copy: work[2,3] = s1[0,1] after 0,4");
    Op grouped = recv_reduce(1, {0}, Side::right);
    grouped.group = 7;
    CHECK(to_text(grouped) == "recv from 1: work[0] = work op incoming group 7");
}

TEST_CASE("a schedule for people") {
    CHECK(to_text(crossed()) == "crossed: broadcast, 2 positions, 2 blocks\n"
                                "position 0\n"
                                "    0  send to 1: work[0]\n"
                                "    1  send to 1: work[1] lane 1\n"
                                "position 1, open receives 1\n"
                                "    0  recv from 0: work[1] = incoming lane 1\n"
                                "    1  recv from 0: work[0] = incoming\n");
    CHECK(to_text(chosen_root())
              .find("token of 2 values, from position 2 after 0 ops\n"
                    "position 0\n"
                    "    0  recv from 2: work[0] = work op incoming\n"
                    "  token value 0\n"
                    "    1  send to 1: work[0] lane 1\n") != std::string::npos);
}
