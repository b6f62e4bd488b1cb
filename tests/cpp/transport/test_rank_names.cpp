// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <vector>

#include "transport/shm/rank_names.hpp"

using stretto::transport::RankNames;

TEST_CASE("a rank whose number in the job is another has both") {
    const RankNames reversed({3, 2, 1, 0, 4});
    CHECK(reversed.of(0) == "rank 3 of the job (rank 0 of this communicator)");
    CHECK(reversed.of(4) == "rank 4");
    CHECK(reversed.of({1, 0}) == "ranks 2, 3 of the job (ranks 1, 0 of this communicator)");
    CHECK(reversed.of({4}) == "rank 4");
    CHECK(reversed.in_job(1) == 2);
}

TEST_CASE("a rank that has one number has it alone") {
    for (const RankNames &names : {RankNames(), RankNames({0, 1, 2})}) {
        CHECK(names.of(2) == "rank 2");
        CHECK(names.of({0, 2}) == "ranks 0, 2");
        CHECK(names.in_job(1) == 1);
    }
}
