// SPDX-License-Identifier: BSD-3-Clause
// What a job knows of its network, and of what calls take (STRETTO_TUNING_FILE).
#pragma once

#include "base/config.hpp"
#include "calls/internal_calls.hpp"
#include "select/profile.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::tuning {

// STRETTO_TUNING_FILE names a file, of the network or of calls.
bool names_profile(const Config::Tuning &config);

// A collective call.  Rank 0 reads the file, or between hosts measures the network with the others,
// and sends what it has found to all ranks.  The same on all of them.  Throws Error, on rank 0 also
// for what is wrong with the file.
select::Profile agree_on_network(const Config::Tuning &config, const transport::Segment &segment,
                                 int rank, calls::InternalCalls &calls);

} // namespace stretto::tuning
