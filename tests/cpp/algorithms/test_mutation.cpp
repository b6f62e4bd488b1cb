// SPDX-License-Identifier: BSD-3-Clause
// Breaks every algorithm in many ways; support/mutate.hpp says what must come out.
#include "doctest.h"

#include <algorithm>
#include <cstdint>

#include "cases.hpp"
#include "support/mutate.hpp"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("mutants of all algorithms are refused, or right in truth") {
    int mutants = 0, refused = 0;
    std::uint64_t seed = 7;
    for (const Algorithm &algorithm : algorithms::all())
        for (const Position ranks : {2, 3, 5, 8}) {
            if (!algorithm.runs(ranks))
                continue;
            Choice choice{&algorithm, {}};
            for (const algorithms::Parameter &parameter : algorithm.parameters)
                if (!parameter.list && parameter.name != "width") // r or width
                    choice.parameters[std::string(parameter.name)] = {
                        std::min<std::int64_t>(2, parameter.most_for(ranks))};
            if (!misfit(choice, problem_of(choice, ranks)).empty())
                choice.parameters.clear();
            CAPTURE(label(choice, ranks, ranks / 2));
            const MutationTally tally =
                check_mutants(make(choice, ranks, ranks / 2), 70, seed++, 2);
            mutants += tally.mutants;
            refused += tally.refused;
        }
    MESSAGE(mutants, " mutants, ", refused, " refused");
    CHECK(mutants > 4000);
    CHECK(refused > mutants * 3 / 4);
}
