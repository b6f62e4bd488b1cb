// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <numeric>

#include "base/status.hpp"
#include "schedule/accounting.hpp"
#include "support/schedules.hpp"

using namespace stretto::test;

TEST_CASE("a ring, block by block and byte by byte") {
    const Accounting symbolic = account(ring(5));
    CHECK(symbolic.steps == 2 * 4);
    CHECK(symbolic.most.sends == 8);
    CHECK(symbolic.most.recvs == 8);
    CHECK(symbolic.most.blocks_sent == 8);
    CHECK(symbolic.most.reductions == 4);
    CHECK(symbolic.most.bytes_sent == 8);
    CHECK(symbolic.most.scratch_blocks == 0);
    CHECK(symbolic.total.sends == 40);
    REQUIRE(symbolic.positions.size() == 5);

    // 12 floats in 5 blocks: 3 3 2 2 2.  Every block travels 4 times to be reduced, 4 to be copied.
    const Accounting real = account(ring(5), 12, 4);
    CHECK(real.total.bytes_sent == 8 * 12 * 4);
    CHECK(real.total.bytes_received == real.total.bytes_sent);
    CHECK(real.total.bytes_reduced == 4 * 12 * 4);
    // Position p sends all blocks twice but for p + 1 and p + 2.
    CHECK(real.positions[0].bytes_sent == 4 * (2 * 12 - 3 - 2));
    CHECK(real.positions[3].bytes_sent == 4 * (2 * 12 - 2 - 3));
    CHECK(real.positions[2].bytes_sent == 4 * (2 * 12 - 2 - 2));
    CHECK(real.most.bytes_sent == 4 * (2 * 12 - 2 - 2));
}

TEST_CASE("messages without bytes are neither sent nor counted nor a step") {
    const Accounting some = account(ring(5), 2, 8); // blocks 0 and 1 have one element
    CHECK(some.total.sends == 2 * 8);
    CHECK(some.total.blocks_sent == 2 * 8);
    CHECK(some.steps == 8); // block 0 alone still goes round twice
    const Accounting none = account(ring(5), 0, 8);
    CHECK(none.total.sends == 0);
    CHECK(none.total.reductions == 0);
    CHECK(none.steps == 0);
    // With an arbiter any message may carry the token.
    CHECK(account(chosen_root(), 0, 8).total.sends == account(chosen_root()).total.sends);
    CHECK(account(chosen_root(), 0, 8).total.blocks_sent == 0);
}

TEST_CASE("steps are messages on the longest dependent chain") {
    CHECK(account(linear(6)).steps == 5 + 1);
    CHECK(account(binomial(8)).steps == 3 + 3);
    CHECK(account(binomial(5)).steps == 3 + 2); // 0 to 4 at once, 0 to 2 to 3
    CHECK(account(recursive_doubling(16, false)).steps == 4);
    CHECK(account(direct(6)).steps == 2);
    CHECK(account(one_shot(6)).steps == 1);
    CHECK(account(ring(1)).steps == 0);
    // A window makes the sends of the root follow one another.
    auto programs = programs_of(linear(6));
    programs[0].open.send = 1;
    CHECK(account(with_programs(linear(6), programs)).steps == 5 + 5);
}

TEST_CASE("n-ary reductions and copies") {
    const Accounting shot = account(one_shot(4), 10, 8);
    CHECK(shot.most.reductions == 3);
    CHECK(shot.most.bytes_reduced == 3 * 80);
    CHECK(shot.most.bytes_sent == 3 * 80);
    CHECK(shot.most.scratch_blocks == 3);
    CHECK(shot.most.scratch_bytes == 3 * 80);
    CHECK(account(recursive_doubling(8, false)).most.copies == 1);
    CHECK(account(alltoall(3, 2)).most.copies == 4);
}

TEST_CASE("scratch is the most that is live at once") {
    auto programs = empty_programs(2);
    ops_of(programs, 0) = {
        recv(1, {0}, 1),                       // s1[0]
        send(1, {0}, 1, 1),                    // its last use
        copy({0}, kWork, 2),                   // s2[0]
        recv(1, {1}, 3),                       // s2[0] s3[1]
        send(1, {1}, 3, 1),                    // s2[0] s3[1], the last use of the latter
        recv_reduce(1, {0}, Side::left, 2, 1), // s2[0] s1[0], a new value
        send(1, {0}, 1, 1),
    };
    ops_of(programs, 1) = {
        send(0, {0}),       send(0, {1}),       send(0, {0}),
        recv(0, {0}, 1, 1), recv(0, {1}, 1, 1), recv(0, {0}, 2, 1), // never read
    };
    // 7 elements: block 0 has 4, block 1 has 3.
    const Accounting cost =
        account(assemble("scratch", {Collective::allreduce, 2, 2}, programs), 7, 4);
    CHECK(cost.positions[0].scratch_blocks == 2);
    CHECK(cost.positions[0].scratch_bytes == 4 * (4 + 4));
    CHECK(cost.positions[1].scratch_blocks == 1); // live at the op that writes it
}

TEST_CASE("paths of a token cost what they cost") {
    const Accounting first = account(chosen_root(), 0), second = account(chosen_root(), 1);
    CHECK(first.positions[0].sends == 3);
    CHECK(second.positions[0].sends == 1);
    CHECK(second.positions[1].sends == 2);
    CHECK_THROWS_AS(account(chosen_root(), 2), stretto::Error);
}

TEST_CASE("a schedule that cannot run cannot be counted") {
    CHECK_THROWS_AS(account(recursive_doubling(4, true)), stretto::Error);
    CHECK_THROWS_AS(account(alltoall(3, 1), 10, 4), stretto::Error); // 10 is no multiple of 3
    CHECK(account(alltoall(3, 1), 9, 4).most.bytes_sent == 2 * 3 * 4);
}
