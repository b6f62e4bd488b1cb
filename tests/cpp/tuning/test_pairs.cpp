// SPDX-License-Identifier: BSD-3-Clause
// A network of several pairs: the median of each number, and who stands out.
#include "doctest.h"

#include <string>

#include "select/profile.hpp"
#include "tuning/pairs.hpp"

using namespace stretto;
using cost::Link;
using tuning::Surveyed;

namespace {

const Link kAssumed = select::Profile{}.between;

Surveyed with(int rank, double latency, double byte) {
    return {rank, " (h" + std::to_string(rank) + ")", {latency, 2e-6, byte, 7}, "3 round trips"};
}

} // namespace

TEST_CASE("of one pair its own numbers") {
    std::string how;
    CHECK(tuning::of_pairs({with(2, 8e-6, 1e-9)}, kAssumed, how) == Link{8e-6, 2e-6, 1e-9, 7});
    CHECK(how == "3 round trips, with rank 2 (h2)");
    how = "assumed";
    CHECK(tuning::of_pairs({}, kAssumed, how) == kAssumed);
    CHECK(how == "assumed");
}

TEST_CASE("of several the median of each number") {
    std::string how;
    const Link link = tuning::of_pairs(
        {with(1, 8e-6, 3e-9), with(2, 9e-6, 2e-9), with(3, 10e-6, 2.5e-9)}, kAssumed, how);
    CHECK(link == Link{9e-6, 2e-6, 2.5e-9, kAssumed.reduce});
    CHECK(how == "median of 3 surveys with 3 ranks: a message 10 to 12 us, a byte 2 to 3 ns");
}

TEST_CASE("a pair that takes half as long again stands out by its own median") {
    std::string how;
    (void)tuning::of_pairs({with(1, 8e-6, 2e-9), with(2, 8e-6, 2e-9), with(3, 8e-6, 4e-9),
                            with(1, 8e-6, 2e-9), with(2, 8e-6, 9e-9), with(3, 8e-6, 5e-9),
                            with(1, 8e-6, 2e-9), with(2, 8e-6, 2e-9), with(3, 8e-6, 4e-9)},
                           kAssumed, how);
    CHECK(how == "median of 9 surveys with 3 ranks: a message 10 to 10 us, a byte 2 to 9 ns; "
                 "rank 3 (h3) stands out: 10 us, 4 ns");
    // Of many only two are named.
    (void)tuning::of_pairs({with(1, 8e-6, 2e-9), with(2, 8e-6, 2e-9), with(3, 8e-6, 2e-9),
                            with(4, 8e-6, 2e-9), with(5, 28e-6, 2e-9), with(6, 8e-6, 9e-9),
                            with(7, 8e-6, 9e-9)},
                           kAssumed, how);
    CHECK(how == "median of 7 surveys with 7 ranks: a message 10 to 30 us, a byte 2 to 9 ns; "
                 "rank 5 (h5) stands out: 30 us, 2 ns; rank 6 (h6) stands out: 10 us, 9 ns; and 1 "
                 "more");
}
