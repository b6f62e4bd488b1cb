// SPDX-License-Identifier: BSD-3-Clause
// The segment of a communicator, a range of the memory of its job, as a process has mapped it.
//
// The last process that unmaps it frees its pages.  It finds out that it is the last one by the
// lifelines: a process that has died holds none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/status.hpp"
#include "transport/shm/job_memory.hpp"
#include "transport/shm/layout.hpp"
#include "transport/shm/lifeline.hpp"
#include "transport/shm/rings.hpp"
#include "transport/shm/shared_device.hpp"

namespace stretto::transport {

// If several ranks are threads of one process, they share one mapping, since a thread sanitizer
// identifies memory by its address.
class Mapping {
public:
    // Of the range.
    static std::size_t bytes_of(const SegmentConfig &config);
    // Called by the founder, the rank that creates the segment.  Throws Error(memory) if there is
    // no room for it.
    static std::shared_ptr<Mapping> create(std::shared_ptr<JobMemory> memory,
                                           const SegmentConfig &config);
    // Called by the other ranks, with the place where the founder has created it.  Null if the
    // range has been freed since.
    static std::shared_ptr<Mapping> attach(std::shared_ptr<JobMemory> memory, std::size_t first);
    ~Mapping();
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    const std::shared_ptr<JobMemory> &memory() const { return memory_; }
    std::size_t first() const { return first_; } // byte of the job's memory
    SegmentHeader &header() const { return *header_; }
    LineBlock *lines() const { return lines_; }
    // For each rank, a bit for every other rank, in whole lines: first of the pending bitmaps, then
    // of the shrink agreement.
    std::atomic<std::uint64_t> *pending() const { return pending_; }
    std::size_t bitmap_words() const { return bitmap_words_; }
    // The rings of the ranks here, in rank order.  Their addresses hold from the beginning; there
    // is memory at them when this process has mapped them, and one of the ranks has taken the room.
    const Rings &rings() const { return *rings_; }
    void map_rings();
    // Throws Error(memory).  If there were no room later, a rank that touches a page would die by
    // a signal in the middle of a collective.
    void take_rings();

    Lifeline &lifeline() const { return *lifeline_; }

    // The mailbox of a pair.  The first use of one maps all of them.
    std::byte *mailbox(int from, int to);
    // Takes the memory of a mailbox before the first write.  Throws Error(memory).
    void open_mailbox(int from, int to);
    // What ranks share of devices, by rank.  Takes the memory of all of them, if it is not there.
    // Throws Error(memory).
    SharedDevice *open_shared_devices();
    // A range of the job's memory for the heap window of a rank of this process, if it has none.
    // Throws Error(memory).
    void take_heap(int rank);
    std::size_t heap_first(int rank) const; // byte of the job's memory
    // The window of a rank that has taken it, mapped on first use, at the boundary of a huge page.
    std::byte *heap(int rank);

    // Unmaps everything without writing.  The object cannot be used after this.
    void unmap() noexcept;

private:
    struct Parts;
    Mapping(std::shared_ptr<JobMemory> memory, std::size_t first);
    void map(const SegmentConfig &config);
    bool all_joined() const;
    Error no_room(std::size_t bytes) const;
    std::size_t offset_of(int from, int to) const;
    std::byte *map_once(std::atomic<std::byte *> &view, std::size_t first, std::size_t bytes,
                        const char *what);

    const std::shared_ptr<JobMemory> memory_;
    const std::size_t first_;
    SegmentHeader *header_ = nullptr;
    LineBlock *lines_ = nullptr;
    std::atomic<std::uint64_t> *pending_ = nullptr;
    std::size_t bitmap_words_ = 0;
    // The values of the header at the time of mapping.
    std::size_t ranks_ = 0, here_ = 0, ring_bytes_ = 0, heap_bytes_ = 0;
    std::unique_ptr<const Parts> parts_;
    std::mutex rings_mutex_;
    bool rings_mapped_ = false;
    std::unique_ptr<Rings> rings_;
    std::unique_ptr<Lifeline> lifeline_;
    std::atomic<std::byte *> mail_{nullptr}, devices_{nullptr};
    std::unique_ptr<std::atomic<std::byte *>[]> heaps_;
};

} // namespace stretto::transport
