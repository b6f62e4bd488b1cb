// SPDX-License-Identifier: BSD-3-Clause
// Memory that every rank of the host can read in place: the owner's part of the shared heap file.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "transport/segment.hpp"

namespace stretto::transport {

class Heap {
public:
    Heap(std::shared_ptr<Segment> segment, int rank);

    // Page-granular, zeroed.  Throws Error(memory) when the window or the machine is full: pages
    // are taken here, so that touching them later cannot fault.
    void *allocate(std::size_t bytes);
    // Throws Error(argument) for a pointer that allocate() did not give.
    void free(void *memory);

    // locate(), if all ranks can read it where it lies; else 0.
    std::uint64_t offer(const void *memory, std::size_t bytes) const {
        return one_host_ ? locate(memory, bytes) : 0;
    }
    // 1 + offset in the window if [memory, memory + bytes) lies in it, else 0.
    std::uint64_t locate(const void *memory, std::size_t bytes) const {
        const std::byte *const base = base_.load(std::memory_order_relaxed);
        if (base == nullptr)
            return 0;
        const auto *first = static_cast<const std::byte *>(memory);
        const auto offset = static_cast<std::size_t>(first - base);
        return first >= base && offset < size_ && bytes <= size_ - offset ? offset + 1 : 0;
    }

private:
    void release_pages(std::size_t offset, std::size_t bytes);

    std::shared_ptr<Segment> segment_;
    int rank_;
    bool one_host_;
    std::atomic<std::byte *> base_{nullptr}; // mapped by the first allocation
    std::size_t size_;
    std::mutex mutex_;
    std::map<std::size_t, std::size_t> used_; // offset -> bytes
};

} // namespace stretto::transport
