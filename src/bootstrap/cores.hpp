// SPDX-License-Identifier: BSD-3-Clause
// Which cores a process may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sched.h>
#include <span>
#include <vector>

#include "base/caches.hpp"
#include "base/core_set.hpp"

namespace stretto::bootstrap {

// Of the calling thread.  `ask` is sched_getaffinity, or what a test has in its place.
CoreSet affinity(int (*ask)(pid_t, std::size_t, cpu_set_t *) = sched_getaffinity);
// Processors of the machine that are online; 0 if that is not known.
unsigned online();
// Cores that the CPU quota of this process's control groups is worth (v1 and v2), rounded up; a
// very large number without a quota.
unsigned quota();
// What ranks that may use these can count with: at least one, and no more than the quota.  If it is
// not known which these are, those that are online.
unsigned cores_worth(const CoreSet &allowed, unsigned quota = bootstrap::quota());

// The last-level cache of each rank, by the processors that each may use.  Nothing if one of the
// ranks may use processors of several caches, as a rank that is not bound, or if its cache is not
// known.
std::vector<std::int32_t> caches_of(std::span<const CoreSet> ranks, const Caches &caches);

} // namespace stretto::bootstrap
