// SPDX-License-Identifier: BSD-3-Clause
// Memory of buffers that the CPU does not reach.
#pragma once

#include <cstddef>

namespace test {

class DeviceMemory {
public:
    virtual ~DeviceMemory() = default;
    // `asked`: a test wants this buffer here.  Null: it is in host memory.
    virtual std::byte *allocate(std::size_t bytes, bool asked) = 0;
    virtual void free(std::byte *memory) = 0;
    // Between this memory and host memory, either way.
    virtual void copy(std::byte *to, const std::byte *from, std::size_t bytes) = 0;
};

// Where tests have their private buffers; null: in host memory.
inline DeviceMemory *device_memory = nullptr;

} // namespace test
