// SPDX-License-Identifier: BSD-3-Clause
// When ranks came to some calls in a row, as each tells the arbiter's agent: where what they say
// must not travel with the calls (rooted.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "arrival/history.hpp"
#include "arrival/notices.hpp"

namespace stretto::comm {

struct Reports {
    // Of the first call, from which those of the next ones follow: under which keys ranks tell when
    // they came to it, and what the call before took.
    std::uint64_t came, took;
    std::vector<int> ranks; // of the job

    // What was told, which is forgotten.  A call of which somebody has not told counts for nothing.
    arrival::History taken_from(arrival::Notices &notices) const;
};

} // namespace stretto::comm
