// SPDX-License-Identifier: BSD-3-Clause
// The user's settings (docs/settings.md).
#pragma once

#include <cstdint>

namespace stretto::mpi {

// STRETTO_MPI, as a bit for each Kind.  Throws Failure that describes the values that it takes.
std::uint32_t kinds_asked_for();
// STRETTO_MPI_REPORT.  Throws Failure.
bool report_asked_for();
// STRETTO_MPI_WARMUP, in ns.  Throws Failure.
std::uint64_t warmup_asked_for();

// STRETTO_MPI_ALL_RANKS, of this rank; false if its value is wrong.
bool user_says_all_ranks_have_it();

} // namespace stretto::mpi
