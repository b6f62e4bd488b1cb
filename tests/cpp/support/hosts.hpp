// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a test are: STRETTO_FAKE_HOSTS names hosts, by turns of ranks.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "schedule/topology.hpp"

namespace test {

// "a,b,a" of 5 ranks: hosts 0 1 0 0 1.
inline stretto::schedule::Topology topology(int ranks) {
    const char *const names = std::getenv("STRETTO_FAKE_HOSTS");
    if (names == nullptr)
        return {};
    std::vector<std::string> turn(1);
    for (const char *at = names; *at != '\0'; ++at)
        if (*at == ',')
            turn.emplace_back();
        else
            turn.back() += *at;
    std::map<std::string, std::int32_t> number;
    std::vector<std::int32_t> host_of;
    for (int rank = 0; rank < ranks; ++rank)
        host_of.push_back(number
                              .emplace(turn[static_cast<std::size_t>(rank) % turn.size()],
                                       static_cast<std::int32_t>(number.size()))
                              .first->second);
    return stretto::schedule::Topology(host_of);
}

// What an algorithm would have to solve there.
inline stretto::algorithms::Problem problem_of(const stretto::algorithms::Choice &choice,
                                               int ranks) {
    return stretto::algorithms::problem_of(choice, ranks, 0, {}, topology(ranks));
}

} // namespace test
