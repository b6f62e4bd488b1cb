// SPDX-License-Identifier: BSD-3-Clause
// An observer of the bytes on the links to other hosts.
#pragma once

#include <cstdint>

namespace stretto::transport {

class Traffic {
public:
    virtual ~Traffic() = default;
    // `bytes` of payload were handed to the link to `rank`; `total`: all so far.  Called with a
    // lock held, by any thread.
    virtual void sent(int rank, std::uint32_t bytes, std::uint64_t total) = 0;
    // The same for bytes that have arrived from there.
    virtual void received(int rank, std::uint32_t bytes, std::uint64_t total) = 0;
};

} // namespace stretto::transport
