// SPDX-License-Identifier: BSD-3-Clause
// Pinned host memory for operands on their way between a device and the CPU: the memory pool of
// Ueno and Fukuda.
//
// All of it is allocated at once, before it is first needed, and stays: allocating or freeing
// pinned memory may wait for everything that runs on the device, so no call does either.
#pragma once

#include <cstddef>
#include <vector>

#include "device/registered_memory.hpp"

namespace stretto::device {

// One thread at a time.
class PinnedPool {
public:
    PinnedPool(const Cuda &driver, RegisteredMemory &registered, std::size_t bytes)
        : driver_(driver), registered_(registered), wanted_bytes_(bytes) {}

    // Allocates all of it, if this was not tried before; false if there is none.  The caller has a
    // context.
    bool allocate() noexcept;

    struct Block {
        std::byte *memory = nullptr;
        std::size_t bytes = 0;
        bool pageable = false;
    };
    // A block of so many bytes; no memory if there is no room until another block is given back. If
    // the pool is too small even when it is empty, the block is pageable, which is slow and right.
    // The caller has a context.  Throws Error(memory) if there is none at all.
    Block take(std::size_t bytes);
    // The same for what may do without: no memory rather than a pageable block or an error.
    Block take_if_pinned(std::size_t bytes);
    void give_back(const Block &block) noexcept;

private:
    Block find(std::size_t bytes);

    const Cuda &driver_;
    RegisteredMemory &registered_;
    const std::size_t wanted_bytes_;
    std::byte *memory_ = nullptr;
    CUresult refused_ = CUDA_SUCCESS;
    std::vector<bool> used_; // by granule
};

} // namespace stretto::device
