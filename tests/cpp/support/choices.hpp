// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of every collective, for tests that walk through all of them.
#pragma once

#include "doctest.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "support/forms.hpp"
#include "support/hosts.hpp"
#include "support/world.hpp"

namespace test {

// What stretto_force_algorithm takes, for one collective.
struct Choice {
    Collective collective;
    std::string name;
};

// Its vector has `count` elements for each rank.
inline bool in_parts(const Choice &choice) {
    return stretto::schedule::in_parts(choice.collective);
}

// Every algorithm by its defaults and by others, and the library's own choice.
inline std::vector<Choice> choices(int ranks) {
    std::vector<Choice> found;
    for (const stretto::algorithms::Algorithm &algorithm : stretto::algorithms::all()) {
        if (!algorithm.runs(ranks))
            continue;
        found.push_back({algorithm.collective, std::string(algorithm.name)});
        // What several collectives share is walked through by the first.
        const bool shared = algorithm.name == "generalized";
        if (shared && algorithm.collective != Collective::allreduce)
            continue;
        for (const auto &parameter : algorithm.parameters) {
            const std::int64_t value = std::min(parameter.least + 2, parameter.most_for(ranks));
            const stretto::algorithms::Choice choice{&algorithm,
                                                     {{std::string(parameter.name), {value}}}};
            if (misfit(choice, test::problem_of(choice, ranks)).empty())
                found.push_back(
                    {algorithm.collective, stretto::algorithms::make(choice, ranks).name});
        }
    }
    for (const auto collective : {Collective::allreduce, Collective::reduce, Collective::broadcast,
                                  Collective::reduce_scatter, Collective::allgather,
                                  Collective::gather, Collective::scatter, Collective::alltoall})
        found.push_back({collective, "auto"});
    return found;
}

inline void force(stretto_comm comm, const Choice &choice) {
    check(stretto_force_algorithm(comm, choice.name.c_str()));
    const char *chosen = nullptr;
    const std::string collective(stretto::schedule::name(choice.collective));
    check(stretto_chosen_algorithm(comm, collective.c_str(), 1, STRETTO_INT32, &chosen));
    if (choice.name != "auto")
        CHECK(chosen == choice.name);
}

} // namespace test
