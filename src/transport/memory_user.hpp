// SPDX-License-Identifier: BSD-3-Clause
// A user of the host memory in which payloads lie.  It hears of that memory, and may register it
// with a device.
#pragma once

#include <cstddef>

namespace stretto::transport {

class MemoryUser {
public:
    virtual ~MemoryUser() = default;
    // Calls use this memory again and again, until it is released.  If the user hears of the same
    // memory several times, it is released as often.  Several threads may call at once.  Throws
    // std::bad_alloc.
    virtual void use_memory(void *memory, std::size_t bytes) { (void)memory, (void)bytes; }
    virtual void release_memory(void *memory) noexcept { (void)memory; }
};

} // namespace stretto::transport
