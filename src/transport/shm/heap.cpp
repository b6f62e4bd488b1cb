// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/heap.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.hpp"

namespace stretto::transport {

namespace {

// Merges small pages into huge ones, if the kernel can (Linux 6.1).  Each rank has page tables for
// the memory of all ranks, and with small pages these are large: 4 ranks that reduce 64 MiB are 12
// % faster with huge pages.
void make_huge(std::byte *first, std::size_t bytes) {
#if !defined(MADV_COLLAPSE)
    constexpr int MADV_COLLAPSE = 25; // older headers
#endif
    if (const std::size_t whole = bytes / kHugePageBytes * kHugePageBytes; whole != 0)
        (void)madvise(first, whole, MADV_COLLAPSE);
}

} // namespace

Heap::Heap(std::shared_ptr<Segment> segment, int rank)
    : segment_(std::move(segment)), rank_(rank), size_(segment_->header().heap_bytes) {}

void *Heap::allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (bytes > size_)
        throw Error(Status::memory, "stretto_alloc of " + std::to_string(bytes) +
                                        " bytes exceeds the heap window of " +
                                        std::to_string(size_) + "; raise STRETTO_HEAP_BYTES");
    bytes = bytes == 0 ? page : round_up(bytes, page);
    // First fit: the first gap between used extents.
    const std::size_t unit = bytes >= kHugePageBytes ? kHugePageBytes : page;
    std::size_t offset = 0;
    for (const auto &[start, length] : used_) {
        if (offset + bytes <= start)
            break;
        offset = round_up(start + length, unit);
    }
    if (offset > size_ || bytes > size_ - offset)
        throw Error(Status::memory, "the heap window of " + std::to_string(size_) +
                                        " bytes is full; raise STRETTO_HEAP_BYTES");
    segment_->take_heap(rank_);
    std::byte *base = segment_->heap(rank_);
    const std::size_t file = segment_->heap_first(rank_) + offset;
    if (!has_room(bytes) || posix_fallocate(segment_->memory()->fd(), static_cast<off_t>(file),
                                            static_cast<off_t>(bytes)) != 0)
        throw Error(Status::memory,
                    "no memory for stretto_alloc of " + std::to_string(bytes) + " bytes");
    make_huge(base + offset, bytes);
    used_[offset] = bytes;
    base_ = base;
    if (segment_->placement().one_host())
        offered_.store(base, std::memory_order_relaxed);
    return base + offset;
}

void Heap::free(void *memory) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t where = locate(memory, 0);
    const auto block = where == 0 ? used_.end() : used_.find(where - 1);
    if (block == used_.end())
        throw Error(Status::argument, "stretto_free of memory that stretto_alloc of this "
                                      "communicator did not give, or freed twice");
    release_pages(block->first, block->second);
    used_.erase(block);
}

// By the mapping, not by the file: memory hooks, and so registrations for devices, hear of that.
// What is allocated there later lies in other pages.
void Heap::release_pages(std::size_t offset, std::size_t bytes) {
    if (madvise(base_ + offset, bytes, MADV_REMOVE) != 0) // such as in memory that mlock(2) locks
        segment_->memory()->free_range(segment_->heap_first(rank_) + offset, bytes);
}

} // namespace stretto::transport
