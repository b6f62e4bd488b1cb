// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a job on several hosts measure their network together.
#pragma once

#include <cstddef>

#include "calls/internal_calls.hpp"
#include "select/profile.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::tuning {

// Rank 0's bytes to all ranks, by an algorithm that nobody chooses.
void send_to_all(calls::InternalCalls &calls, int ranks, const char *name, void *data,
                 std::size_t bytes);

enum class Thoroughness {
    brief,    // one other host, up to half a second
    thorough, // every other host, three times: for `stretto tune`
};

// A collective call of ranks on several hosts.  What was found, on rank 0; elsewhere nothing.  What
// the others give for `how` does not count.
select::Profile measure_network(const transport::Segment &segment, int rank, Thoroughness how,
                                calls::InternalCalls &calls);

} // namespace stretto::tuning
