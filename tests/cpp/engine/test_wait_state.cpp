// SPDX-License-Identifier: BSD-3-Clause
// Where a rank stands, in one word and in words.
#include "doctest.h"

#include <numeric>

#include "engine/stall_report.hpp"
#include "transport/shm/wait_state.hpp"

using stretto::transport::WaitState;

TEST_CASE("a wait state fits into its word") {
    for (const WaitState::Kind kind : {WaitState::step, WaitState::incoming, WaitState::outgoing})
        for (const int awaited : {WaitState::kAnyRank, 0, 1, 63, 65'535})
            for (const std::uint32_t at : {0u, 1u, 4'194'303u})
                for (const std::uint32_t of : {0u, 7u, 4'194'303u}) {
                    const WaitState wait_state{kind, awaited, at, of};
                    CHECK(WaitState::unpacked(wait_state.packed()) == wait_state);
                    CHECK((wait_state.packed() & WaitState::kAnsweredFlag) == 0);
                    CHECK(WaitState::unpacked(wait_state.packed() | WaitState::kAnsweredFlag) ==
                          wait_state);
                }
    CHECK(WaitState{}.packed() == 0);
    CHECK(WaitState::unpacked(WaitState::kAnsweredFlag).kind == WaitState::nowhere);
    // More steps than it can say are many.
    CHECK(WaitState::unpacked(WaitState{WaitState::step, 3, 5'000'000, ~0u}.packed()) ==
          WaitState{WaitState::step, 3, 4'194'303, 4'194'303});
}

TEST_CASE("a wait state in words") {
    using stretto::engine::in_words;
    CHECK(in_words({WaitState::step, 5, 3, 14}) == "rank 5 in step 3 of 14");
    CHECK(in_words({WaitState::step, WaitState::kAnyRank, 3, 14}) ==
          "another rank in step 3 of 14");
    CHECK(in_words({WaitState::incoming, 2}) == "a message from rank 2");
    CHECK(in_words({WaitState::incoming, WaitState::kAnyRank}) == "a message from another rank");
    CHECK(in_words({WaitState::outgoing, 2}) == "rank 2 to take a message");
}

TEST_CASE("many ranks are not all named") {
    const stretto::transport::RankNames names;
    CHECK(names.of(std::vector{7}) == "rank 7");
    CHECK(names.of({1, 3}) == "ranks 1, 3");
    std::vector<int> many(20);
    std::iota(many.begin(), many.end(), 0);
    CHECK(names.of(many) ==
          "ranks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ..., and 4 more");
}
