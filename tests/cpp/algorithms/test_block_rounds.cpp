// SPDX-License-Identifier: BSD-3-Clause
// The broadcast of n blocks along a circulant graph: tables and rounds.
#include "doctest.h"

#include <limits>
#include <string>
#include <vector>

#include "algorithms/block_rounds.hpp"
#include "support/golden.hpp"
#include "support/tier.hpp"

using namespace stretto;
using namespace stretto::schedule;
using algorithms::BlockRounds;

TEST_CASE("the tables of the broadcast of blocks are the golden ones") {
    const nlohmann::json tables = stretto::test::golden("nblock");
    for (const auto &[ranks, expected] : tables.items()) {
        const BlockRounds rounds(std::stoi(ranks), 1);
        CHECK(rounds.skips() == expected.at("skips").get<std::vector<Position>>());
        for (Position rank = 0; rank < std::stoi(ranks); ++rank)
            CHECK(rounds.table(rank) == expected.at("recv").at(rank).get<std::vector<Block>>());
    }
}

namespace {

// Everybody receives each block once, and nobody sends what it has not received before.
void check_rounds(Position ranks, Block blocks) {
    const BlockRounds rounds(ranks, blocks);
    std::vector<std::vector<Block>> received;
    for (Position rank = 0; rank < ranks; ++rank)
        received.push_back(rounds.received(rank));
    bool once = true, late = false, pairs = true, in_time = true;
    std::vector<Block> held_from; // by block: the round after which the rank has it
    for (Position rank = 0; rank < ranks; ++rank) {
        const std::vector<Block> sent = rounds.sent(rank);
        held_from.assign(static_cast<std::size_t>(blocks), std::numeric_limits<Block>::max());
        Block count = 0;
        for (Block i = 0; i < rounds.rounds(); ++i) {
            const auto at = static_cast<std::size_t>(i);
            const Position to = (rank + rounds.skip(i)) % ranks;
            pairs = pairs && sent[at] == received[static_cast<std::size_t>(to)][at];
            if (const Block given = sent[at]; given != BlockRounds::kNone && rank != 0)
                in_time = in_time && held_from[static_cast<std::size_t>(given)] < i;
            if (const Block taken = received[static_cast<std::size_t>(rank)][at];
                taken != BlockRounds::kNone) {
                Block &from = held_from[static_cast<std::size_t>(taken)];
                once = once && from == std::numeric_limits<Block>::max();
                from = i;
                ++count;
                late = late || (i + 1 == rounds.rounds() && rank != 0);
            }
        }
        once = once && count == blocks;
    }
    CAPTURE(ranks);
    CAPTURE(blocks);
    CHECK(once);
    CHECK(!late); // only the root needs the last round
    CHECK(pairs);
    CHECK(in_time);
}

} // namespace

TEST_CASE("the broadcast of blocks: each block reaches each rank once, before it is sent on") {
    const Position most = ::test::sampled() ? 40 : 299;
    for (Position ranks = 2; ranks <= most; ++ranks)
        for (const Block blocks : {1, 2, 5, 17})
            check_rounds(ranks, blocks);
    if (!::test::sampled())
        for (const Position ranks : {384, 511, 512, 513, 777, 1000, 1023, 1024, 1025, 2047})
            check_rounds(ranks, 9);
}
