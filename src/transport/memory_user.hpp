// SPDX-License-Identifier: BSD-3-Clause
// One that is told of the host memory in which payloads lie, for instance since it registers that
// memory with a device.
#pragma once

#include <cstddef>

namespace stretto::transport {

class MemoryUser {
public:
    virtual ~MemoryUser() = default;
    // Memory that is used again and again, until it is released.  The same memory may be told of
    // several times, and is released as often.  Calls of several threads may come at once.  Throws
    // std::bad_alloc.
    virtual void use_memory(void *memory, std::size_t bytes) { (void)memory, (void)bytes; }
    virtual void release_memory(void *memory) noexcept { (void)memory; }
};

} // namespace stretto::transport
