// SPDX-License-Identifier: BSD-3-Clause
#include "device/pinned_pool.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>

namespace stretto::device {

constexpr std::size_t kLeastBlockBytes = 4096;

PinnedPool::Block PinnedPool::take(std::size_t bytes) {
    const std::size_t size = std::bit_ceil(std::max(bytes, kLeastBlockBytes));
    // A block of twice the size serves as well; a much longer one would be missed elsewhere.
    if (const auto found = free_.lower_bound(size);
        found != free_.end() && found->first <= 2 * size) {
        const Block block{found->second, found->first};
        free_.erase(found);
        used_ += block.bytes;
        return block;
    }
    // Blocks of other sizes make room.
    while (allocated_ + size > most_bytes_ && !free_.empty()) {
        const auto longest = std::prev(free_.end());
        (void)driver_.free_host(longest->second);
        allocated_ -= longest->first;
        free_.erase(longest);
    }
    if (allocated_ + size > most_bytes_ && used_ != 0)
        return {};
    void *memory = nullptr;
    if (const CUresult result = driver_.allocate_host(&memory, size, CU_MEMHOSTALLOC_PORTABLE);
        result != CUDA_SUCCESS) {
        if (used_ != 0)
            return {}; // what others give back will do
        const Error why =
            cuda_error(driver_, result, "cuMemHostAlloc of " + std::to_string(size) + " bytes");
        throw Error(Status::memory,
                    std::string(why.what()) + "; raise the limit of locked memory (ulimit -l)");
    }
    allocated_ += size;
    used_ += size;
    return {static_cast<std::byte *>(memory), size};
}

void PinnedPool::give_back(Block block) {
    if (block.memory == nullptr)
        return;
    used_ -= block.bytes;
    free_.emplace(block.bytes, block.memory);
}

} // namespace stretto::device
