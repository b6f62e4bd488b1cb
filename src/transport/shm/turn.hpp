// SPDX-License-Identifier: BSD-3-Clause
// Turns for work that needs much memory: at most as many ranks of a host at a time as there are
// cores.
//
// A turn is a lock on a byte behind those of the lifelines, one of as many as there are cores.  The
// kernel drops it with the process, so no rank waits for one that has died.
#pragma once

#include "base/descriptor.hpp"
#include "transport/shm/segment.hpp"

namespace stretto::transport {

class Turn {
public:
    // Waits for the turn of `rank`; throws the communicator's failure if that comes first.  If the
    // memory's file cannot be opened once more (no /proc), ranks do not wait.
    Turn(const Segment &segment, int rank);

private:
    Descriptor file_; // the lock's descriptor
};

} // namespace stretto::transport
