// SPDX-License-Identifier: BSD-3-Clause
#include "doctest.h"

#include <string>

#include "support/mutate.hpp"
#include "support/schedules.hpp"

using namespace stretto::test;

namespace {

MutationTally add(MutationTally a, const MutationTally &b) {
    a.mutants += b.mutants;
    a.refused += b.refused;
    a.confirmed += b.confirmed;
    a.equivalent += b.equivalent;
    a.harmless += b.harmless;
    for (const auto &[mutation, counts] : b.refused_of) {
        a.refused_of[mutation].first += counts.first;
        a.refused_of[mutation].second += counts.second;
    }
    return a;
}

} // namespace

TEST_CASE("the second opinion agrees on correct schedules") {
    for (const Schedule &schedule :
         {linear(4), binomial(5), ring(4), recursive_doubling(4, false), direct(4), one_shot(3),
          alltoall(3, 2), crossed(), chosen_root()}) {
        CAPTURE(schedule.name);
        const Verdict verdict = verify(schedule);
        REQUIRE(verdict.failure == "");
        const Findings truth = run_on_numbers(schedule, 1, 10);
        CHECK(truth.computed);
        CHECK(truth.order_preserving == verdict.order_preserving);
        CHECK(truth.consistent == verdict.consistent);
    }
    CHECK(interpret(recursive_doubling(4, true), 0, 1).fault == "deadlock");
}

TEST_CASE("mutants are refused, or right in truth") {
    MutationTally all;
    std::uint64_t seed = 100;
    for (const Schedule &schedule :
         {linear(4), binomial(5), ring(3), recursive_doubling(4, false), direct(4), one_shot(3),
          alltoall(3, 2), crossed(), chosen_root()})
        all = add(all, check_mutants(schedule, 1000, seed++));

    // Not vacuous: most mutants are refused, for reasons that the numbers see as well, and both
    // kinds of accepted ones occur.
    MESSAGE(all.mutants, " mutants: ", all.refused, " refused (", all.confirmed,
            " confirmed on numbers), ", all.equivalent, " equivalent, ", all.harmless, " harmless");
    CHECK(all.mutants > 4000);
    CHECK(all.refused > all.mutants * 3 / 4);
    CHECK(all.confirmed > all.refused * 9 / 10);
    CHECK(all.equivalent > 0);
    CHECK(all.harmless > 0);
    for (const Mutation mutation : kMutations) {
        CAPTURE(std::string(name(mutation)));
        CHECK(all.refused_of[mutation].second > 0);
        if (mutation != Mutation::side && mutation != Mutation::sources)
            CHECK(all.refused_of[mutation].first > 0);
    }
}
