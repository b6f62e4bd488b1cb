// SPDX-License-Identifier: BSD-3-Clause
// Words that several errors of the start have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "bootstrap/environment.hpp"
#include "net/sockets.hpp"

namespace stretto::bootstrap {

// A rank of this host: "rank 3 on node7".
inline std::string rank_here(int rank) {
    return "rank " + std::to_string(rank) + " on " + net::host_name();
}

// What else may be wrong if the ranks of a job do not find one another; "": nothing.
inline std::string launch_hint(const Identity &me) {
    return me.by_process ? "; if different shells or scripts start the ranks of this job, set "
                           "STRETTO_JOB to the same name for all of them"
                         : "";
}

// " 3 5 7"; of many ranks the first.
inline std::string listed(const std::vector<int> &ranks) {
    constexpr std::size_t kMostRanks = 32;
    std::string names;
    for (std::size_t i = 0; i < std::min(ranks.size(), kMostRanks); ++i)
        names += " " + std::to_string(ranks[i]);
    return ranks.size() > kMostRanks ? names + " ... (" + std::to_string(ranks.size()) + " in all)"
                                     : names;
}

} // namespace stretto::bootstrap
