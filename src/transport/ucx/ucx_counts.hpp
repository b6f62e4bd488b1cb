// SPDX-License-Identifier: BSD-3-Clause
// What the links of a rank have done so far, in operations and bytes.
#pragma once

#include <cstdint>

namespace stretto::transport {

struct UcxCounts {
    std::uint64_t messages = 0; // active messages sent: packets, hellos, offers
    // Cells whose payloads this rank has written into the memory of peers, the operations (one, or
    // two where a payload goes round the end of its ring), and bytes.
    std::uint64_t put_cells = 0, puts = 0, put_bytes = 0;
    // Of those, bytes that devices read in callers' buffers (registration_cache.hpp), and in this
    // rank's registered rings.
    std::uint64_t put_from_buffers_bytes = 0, put_from_rings_bytes = 0;
    // The most cells of one link whose payloads were put while their flags had not gone.
    std::uint64_t most_ahead_cells = 0;
    // Memory that peers may write.
    std::uint64_t registrations = 0, registered_bytes = 0;
    // Payloads of cells that this rank has copied after they had come in messages.  Those that
    // peers write, and long ones that UCX fetches, lie in their places at once.
    std::uint64_t copies = 0, copied_bytes = 0;
};

} // namespace stretto::transport
