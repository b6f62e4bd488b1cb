// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a job on several hosts measure their network together.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "schedule/schedule.hpp"
#include "select/profile.hpp"
#include "transport/segment.hpp"

namespace stretto::comm {

// Plays a schedule that `make` makes, and that has this name, on these bytes: a call that no caller
// made.  Of whole elements of kUnseenElementBytes bytes.
using PlayUnseen =
    std::function<void(const std::string &name, const std::function<schedule::Schedule()> &make,
                       void *data, std::size_t bytes)>;
inline constexpr std::size_t kUnseenElementBytes = 8;
inline constexpr std::size_t kUnseenSliceBytes = 65536; // in which it travels

// Rank 0's bytes to all ranks, by an algorithm that nobody chooses.
void tell_all(const PlayUnseen &play, int ranks, const char *name, void *data, std::size_t bytes);

enum class Thoroughness {
    brief,    // one other host, up to half a second
    thorough, // every other host, three times: for `stretto tune`
};

// A collective call of ranks on several hosts.  What was found, on rank 0; elsewhere nothing.  What
// the others give for `how` does not count.
select::Profile measure_network(const transport::Segment &segment, int rank, Thoroughness how,
                                const PlayUnseen &play);

} // namespace stretto::comm
