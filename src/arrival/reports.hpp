// SPDX-License-Identifier: BSD-3-Clause
// When ranks came to some calls in a row, as each reports to the coordinator's agent: where that
// must not travel with the calls (reported_calls.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "arrival/history.hpp"
#include "arrival/notices.hpp"

namespace stretto::arrival {

struct Reports {
    // Of the first call, from which those of the next ones follow: under which keys ranks report
    // when they came to it, and what the call before took.
    std::uint64_t came, took;
    std::vector<int> ranks; // of the job

    // What was reported, which is forgotten.  A call that some rank did not report does not count.
    arrival::History taken_from(arrival::Notices &notices) const;
};

} // namespace stretto::arrival
