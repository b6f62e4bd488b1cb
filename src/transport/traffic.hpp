// SPDX-License-Identifier: BSD-3-Clause
// Who wants to know what goes over the links to other hosts.
#pragma once

#include <cstdint>

namespace stretto::transport {

class Traffic {
public:
    virtual ~Traffic() = default;
    // Bytes of payload that were handed to the link to `rank`, and all that were so far.  With a
    // lock held, by any thread.
    virtual void sent(int rank, std::uint32_t bytes, std::uint64_t total) = 0;
    // The same of those that have come from there.
    virtual void received(int rank, std::uint32_t bytes, std::uint64_t total) = 0;
};

} // namespace stretto::transport
