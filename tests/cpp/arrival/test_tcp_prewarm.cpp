// SPDX-License-Identifier: BSD-3-Clause
// Which connections are warmed: those of what serves, each once in a phase, and none that has no
// time to be idle.
#include "doctest.h"

#include <cstddef>
#include <vector>

#include "arrival/tcp_prewarm.hpp"

using namespace stretto;
using arrival::TcpPrewarm;

namespace {

constexpr std::size_t kKiB = 1024;

std::vector<engine::StepReader> sends_to(const std::vector<int> &ranks) {
    std::vector<engine::StepReader> readers;
    for (const int rank : ranks)
        readers.push_back({rank, 0, 0, 0, 0});
    return readers;
}

using Ranks = std::vector<int>;

} // namespace

TEST_CASE("those of other hosts to whom a plan sends are warmed once, when it is time") {
    TcpPrewarm warming({false, true, false, false, false});
    CHECK(warming.due(UINT64_MAX - 1).ranks.empty()); // nothing has begun
    warming.begin(100, sends_to({3, 1, 2, 3, 2}), 64 * kKiB);
    CHECK(warming.due(99).ranks.empty());
    const TcpPrewarm::Due due = warming.due(100);
    CHECK(due.ranks == Ranks{2, 3}); // 1 is here
    CHECK(due.bytes == 32 * kKiB);
    CHECK(warming.due(200).ranks.empty());
    warming.begin(300, sends_to({2}), 64 * kKiB); // the next phase
    CHECK(warming.due(300).ranks == Ranks{2});
}

TEST_CASE("what serves otherwise than expected is warmed instead, or besides") {
    TcpPrewarm warming(std::vector<bool>(6));
    warming.begin(100, sends_to({1, 2}), 64 * kKiB);
    CHECK(warming.turn_to(sends_to({4})) == 100);
    CHECK(warming.due(100).ranks == Ranks{4});
    CHECK(warming.turn_to(sends_to({5, 4, 0})) == 100); // it is time already
    CHECK(warming.due(150).ranks == Ranks{0, 5});       // 4 has had its own
    CHECK(warming.turn_to(sends_to({0, 4, 5})) == 100);
    CHECK(warming.due(160).ranks.empty());
}

TEST_CASE("who has come, or does not compute for long, warms nothing") {
    TcpPrewarm warming(std::vector<bool>(6));
    CHECK(!warming.turn_to(sends_to({1})));
    warming.begin(100, sends_to({1, 2}), 64 * kKiB);
    warming.end();
    CHECK(warming.due(100).ranks.empty());
    CHECK(!warming.turn_to(sends_to({3})));
    CHECK(warming.due(200).ranks.empty());
}

TEST_CASE("a connection is sent what opens its window, or nothing") {
    TcpPrewarm warming(std::vector<bool>(64));
    warming.begin(0, sends_to({1}), 1024 * kKiB);
    CHECK(warming.due(0).bytes == 128 * kKiB);
    warming.begin(0, sends_to({1, 2, 3, 4}), 64 * kKiB);
    CHECK(warming.due(0).bytes == 16 * kKiB);
    warming.begin(0, sends_to({1, 2, 3, 4, 5}), 64 * kKiB);
    CHECK(warming.due(0).ranks.empty());
    warming.begin(0, sends_to({}), 64 * kKiB);
    CHECK(warming.due(0).ranks.empty());
}
