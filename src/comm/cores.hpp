// SPDX-License-Identifier: BSD-3-Clause
// Which cores a process may use.
#pragma once

#include <sched.h>

namespace stretto::comm {

cpu_set_t affinity();
// Cores that the CPU quota of this process's control groups is worth (v2), rounded up; a very large
// number without a quota.
unsigned quota();

} // namespace stretto::comm
