// SPDX-License-Identifier: BSD-3-Clause
// What the arbiter's agent decides of calls that repeat, and what all make of it.
#include "doctest.h"

#include <limits>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "comm/review.hpp"

using namespace stretto;
using namespace stretto::comm;
using select::Arrivals;

namespace {

// A host each, 1 Gbit/s, 4 MiB; rank 1 has come late to the last three calls.
Review one_late(int ranks, double late) {
    Review review;
    review.situation.ranks = review.situation.hosts = ranks;
    review.situation.bytes = 4u << 20;
    review.balanced = "ring";
    review.expected.assign(static_cast<std::size_t>(ranks), 0);
    review.expected[1] = late;
    review.recent.assign(3, review.expected);
    review.elapsed = {0.1, 0.1, std::numeric_limits<double>::quiet_NaN()};
    review.lessons = std::make_shared<Lessons>(0);
    return review;
}

select::Late read(const Review &review, std::size_t most = 1024) {
    return reviewed(review.decide(most), review.serves, review.expected);
}

} // namespace

TEST_CASE("all make of a decision what the one who decided meant") {
    for (const int ranks : {3, 7, 16})
        for (const double late : {0.0, 0.001, 0.1}) {
            CAPTURE(ranks);
            CAPTURE(late);
            const Review review = one_late(ranks, late);
            const select::Late meant =
                choose_late(review.situation, review.balanced, review.expected, review.recent);
            const select::Late all = read(review);
            CHECK(all.algorithm == meant.algorithm);
            CHECK(all.order == meant.order);
            CHECK(all.margin == meant.margin); // to the last bit: orders go by it
            CHECK(all.why == meant.why);
            CHECK(all.algorithm.empty() == (late < 0.1));
        }
}

TEST_CASE("what goes on keeps its order, and its plans") {
    Review review = one_late(8, 0.1);
    review.serves = read(review);
    REQUIRE(!review.serves.algorithm.empty());
    review.expected[2] = 0.004; // no reason for another order
    const select::Late next = read(review);
    CHECK(next.algorithm == review.serves.algorithm);
    CHECK(next.order == review.serves.order);
}

TEST_CASE("what is slower than its price is dropped, by the calls that it has served") {
    Review review = one_late(8, 0.1);
    review.served = 2;
    review.elapsed = {0.12, 0.12, 0};
    review.serves = read(review); // what the ring takes is known now
    REQUIRE(!review.serves.algorithm.empty());
    review.elapsed = {1, 1, 0};
    review.served = 0; // they were others
    CHECK(read(review).algorithm == review.serves.algorithm);
    review.served = 2;
    CHECK(read(review).algorithm.empty());
}

TEST_CASE("a decision fits, or all stays as it is") {
    Review review = one_late(16, 0.1);
    CHECK(review.decide(60).size() <= 60);
    CHECK(!read(review, 60).algorithm.empty()); // the reason is cut short
    CHECK(review.decide(10).empty());
    review.serves.algorithm = "chain(segments=7)";
    CHECK(read(review, 10).algorithm == "chain(segments=7)");
    for (const char *text : {"0x1p-5", "0x1p-5\n0\nchain", "late\n0\nchain\nwhy", "\n\n\n",
                             "0x1p-5\nchain\nwhy\n", "0x1p-5\n\nchain\nwhy"})
        CHECK_THROWS_AS(reviewed(text, review.serves, review.expected), Error);
}

TEST_CASE("where nobody knows who comes late, all agree that it shows in the call") {
    Review review = one_late(8, 0);
    for (std::size_t call = 0; call < 3; ++call) {
        review.recent[call].assign(8, 0);
        review.recent[call][2 * call] = 0.1;
    }
    review.served = 2;
    review.elapsed = {0.15, 0.15, 0}; // what the ring takes is known now
    review.serves = read(review);
    REQUIRE(!review.serves.algorithm.empty());
    CHECK(review.serves.latecomers == 1);
    CHECK(review.serves.order.empty());
    // What it takes is learned.
    review.elapsed = {0.12, 0.12, 0};
    CHECK(read(review).same_as(review.serves));
    review.elapsed = {1, 1, 0};
    CHECK(read(review).algorithm.empty());
}
