// SPDX-License-Identifier: BSD-3-Clause
// Which cores a process may use.
#pragma once

#include <sched.h>

namespace stretto::comm {

cpu_set_t affinity();
// Cores that the CPU quota of this process's control groups is worth (v2), rounded up; a very large
// number without a quota.
unsigned quota();
// What ranks that may use these can count with: at least one, and no more than the quota.
unsigned cores_worth(const cpu_set_t &allowed);

} // namespace stretto::comm
