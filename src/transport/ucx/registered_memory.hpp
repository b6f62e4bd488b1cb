// SPDX-License-Identifier: BSD-3-Clause
// Memory that devices may read and write: it is pinned, and the device has a table of its pages.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "transport/ucx/ucp_worker.hpp"

namespace stretto::transport::ucp {

class RegisteredMemory {
public:
    // The memory stays where it is for as long as this lives, and longer than workers by which
    // peers write it.  Throws Error(system).
    RegisteredMemory(std::shared_ptr<const OwnedContext> context, std::byte *first,
                     std::size_t bytes, MemoryUse use);
    // From now on devices refuse what peers write.
    ~RegisteredMemory();
    RegisteredMemory(const RegisteredMemory &) = delete;
    RegisteredMemory &operator=(const RegisteredMemory &) = delete;

    std::size_t bytes() const { return bytes_; }
    Memory *get() const { return memory_; }
    // By which a peer may write it.  Throws Error(system).
    std::vector<std::byte> key() const;

private:
    const std::shared_ptr<const OwnedContext> context_;
    const std::size_t bytes_;
    const MemoryUse use_;
    Memory *memory_ = nullptr;
};

} // namespace stretto::transport::ucp
