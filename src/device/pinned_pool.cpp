// SPDX-License-Identifier: BSD-3-Clause
#include "device/pinned_pool.hpp"

#include <algorithm>
#include <new>
#include <string>

namespace stretto::device {

constexpr std::size_t kGranuleBytes = 4096, kLeastPoolBytes = 16 * kGranuleBytes;

static std::size_t granules(std::size_t bytes) {
    return (bytes + kGranuleBytes - 1) / kGranuleBytes;
}

// As much as the driver gives of what is wanted.
bool PinnedPool::allocate() noexcept {
    if (memory_ != nullptr || refused_ != CUDA_SUCCESS)
        return memory_ != nullptr;
    void *memory = nullptr;
    try {
        for (std::size_t bytes = wanted_bytes_; bytes >= kLeastPoolBytes; bytes /= 2) {
            used_.assign(granules(bytes), false);
            refused_ = registered_.allocate(bytes, &memory);
            if (refused_ == CUDA_SUCCESS) {
                memory_ = static_cast<std::byte *>(memory);
                return true;
            }
        }
    } catch (const std::bad_alloc &) {
        refused_ = CUDA_ERROR_OUT_OF_MEMORY;
    } catch (const Error &) { // the context is gone
        refused_ = CUDA_ERROR_INVALID_CONTEXT;
    }
    return false;
}

// The first place that is long enough.
PinnedPool::Block PinnedPool::find(std::size_t bytes) {
    const std::size_t needed = granules(bytes);
    std::size_t free = 0;
    for (std::size_t i = 0; i < used_.size(); ++i) {
        free = used_[i] ? 0 : free + 1;
        if (free < needed)
            continue;
        const std::size_t first = i + 1 - needed;
        std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(first), needed, true);
        return {memory_ + first * kGranuleBytes, bytes, false};
    }
    return {};
}

PinnedPool::Block PinnedPool::take_if_pinned(std::size_t bytes) {
    return allocate() ? find(bytes) : Block{};
}

PinnedPool::Block PinnedPool::take(std::size_t bytes) {
    if (!allocate())
        throw Error(Status::memory,
                    std::string(cuda_error(driver_, refused_, "cuMemHostRegister").what()) +
                        "; raise the limit of locked memory (ulimit -l)");
    if (granules(bytes) > used_.size())
        return {new std::byte[bytes], bytes, true};
    return find(bytes);
}

void PinnedPool::give_back(const Block &block) noexcept {
    if (block.pageable) {
        delete[] block.memory;
    } else if (block.memory != nullptr) {
        const auto first = static_cast<std::size_t>(block.memory - memory_) / kGranuleBytes;
        std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(first), granules(block.bytes),
                    false);
    }
}

} // namespace stretto::device
