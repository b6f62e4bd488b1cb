// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of one host find one another.
#pragma once

#include <memory>

#include "comm/environment.hpp"
#include "transport/segment.hpp"

namespace stretto::comm {

// Rank 0 founds the segment and hands its descriptors to the others over a Unix socket in the
// abstract namespace, which leaves no file behind; only processes of the same user are let in.
// Returns when all ranks have joined.  Throws Error(timeout) naming who has not come within
// STRETTO_INIT_TIMEOUT, Error(mismatch) if ranks disagree on the size of the job.
std::shared_ptr<transport::Segment> join(const Identity &me);

} // namespace stretto::comm
