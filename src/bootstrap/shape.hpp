// SPDX-License-Identifier: BSD-3-Clause
// What the segment of a new communicator looks like: as rank 0 has it in its config.
#pragma once

#include "bootstrap/join.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::bootstrap {

// Throws Error(argument) if a setting will not do.
transport::SegmentShape shape_for(const Config &config, int ranks, unsigned cores,
                                  const ParentContext *origin = nullptr);

} // namespace stretto::bootstrap
