// SPDX-License-Identifier: BSD-3-Clause
// Pinned host memory for operands on their way between a device and the CPU: the memory pool of
// Ueno and Fukuda.  Blocks are allocated when they are first needed and used again, so repeated
// calls allocate nothing.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "device/cuda.hpp"

namespace stretto::device {

// One thread at a time.
class PinnedPool {
public:
    // Together blocks take at most this many bytes, except that one block may be any size.
    PinnedPool(const Cuda &driver, std::size_t most_bytes)
        : driver_(driver), most_bytes_(most_bytes) {}

    struct Block {
        std::byte *memory = nullptr;
        std::size_t bytes = 0;
    };
    // A block of at least so many bytes; no memory if there is no room until another is given back.
    // Throws Error(memory) if the driver has none.  The caller has a context.
    Block take(std::size_t bytes);
    void give_back(Block block);
    // Whether less than half of it is in use: then some may be used ahead of need.
    bool roomy() const { return 2 * used_ < most_bytes_; }

private:
    const Cuda &driver_;
    const std::size_t most_bytes_;
    std::size_t allocated_ = 0, used_ = 0;
    std::multimap<std::size_t, std::byte *> free_; // by size
};

} // namespace stretto::device
