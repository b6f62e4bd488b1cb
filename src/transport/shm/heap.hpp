// SPDX-License-Identifier: BSD-3-Clause
// Memory that every rank of the host can read in place: the owner's part of the shared heap file.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "transport/shm/segment.hpp"

namespace stretto::transport {

class Heap {
public:
    Heap(std::shared_ptr<Segment> segment, int rank);

    // Whole pages, zeroed.  Throws Error(memory) if the window or the machine is full.  Pages are
    // taken here, so that touching them later cannot fault.
    void *allocate(std::size_t bytes);
    // Throws Error(argument) for a pointer that allocate() did not give.
    void free(void *memory);

    // 1 + offset in the window if [memory, memory + bytes) lies in it and all ranks of the job can
    // read it there, else 0.
    std::uint64_t offer(const void *memory, std::size_t bytes) const {
        return place_in(offered_.load(std::memory_order_relaxed), memory, bytes);
    }
    // The same, even if not all ranks can read it; called by the thread that has allocated it.
    std::uint64_t locate(const void *memory, std::size_t bytes) const {
        return place_in(base_, memory, bytes);
    }

private:
    std::uint64_t place_in(const std::byte *base, const void *memory, std::size_t bytes) const {
        if (base == nullptr)
            return 0;
        const auto *first = static_cast<const std::byte *>(memory);
        const auto offset = static_cast<std::size_t>(first - base);
        return first >= base && offset < size_ && bytes <= size_ - offset ? offset + 1 : 0;
    }
    void release_pages(std::size_t offset, std::size_t bytes);

    std::shared_ptr<Segment> segment_;
    int rank_;
    std::byte *base_ = nullptr;                 // mapped by the first allocation
    std::atomic<std::byte *> offered_{nullptr}; // the same, if all ranks are on this host
    std::size_t size_;
    std::mutex mutex_;
    std::map<std::size_t, std::size_t> used_; // offset -> bytes
};

} // namespace stretto::transport
