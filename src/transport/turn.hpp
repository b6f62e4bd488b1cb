// SPDX-License-Identifier: BSD-3-Clause
// Turns of the ranks of a host at what needs much memory: as many at a time as there are cores.
//
// A turn is a lock on a byte behind those of the lifelines, one of as many as there are cores.  The
// kernel drops it with the process, so nobody waits for a rank that has died.
#pragma once

#include "base/descriptor.hpp"
#include "transport/segment.hpp"

namespace stretto::transport {

class Turn {
public:
    // Waits for the turn of `rank`; throws the communicator's failure if that comes first.  Where
    // the file of the memory cannot be opened once more (no /proc), nobody waits.
    Turn(const Segment &segment, int rank);

private:
    Descriptor file_; // which has the lock
};

} // namespace stretto::transport
