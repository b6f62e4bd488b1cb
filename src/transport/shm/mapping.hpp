// SPDX-License-Identifier: BSD-3-Clause
// The memory that the ranks of one host share, as a process has mapped it.
//
// It is a file without a name, so that nothing can be left behind: the kernel frees it with the
// last process, however that ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "transport/shm/layout.hpp"
#include "transport/shm/lifeline.hpp"
#include "transport/shm/rings.hpp"

namespace stretto::transport {

// A file of memory without a name, which processes share by its descriptor.  Throws Error.
Descriptor anonymous_file(const char *name, std::size_t bytes);

// If several ranks are threads of one process, they share one mapping, since a thread sanitizer
// identifies memory by its address.
class Mapping {
public:
    // Called by the founder, the rank that creates the memory.  Throws Error(memory) if there is no
    // room, before anything uses it.
    static std::shared_ptr<Mapping> create(const SegmentHeader &shape);
    // Called by the other ranks, with the two descriptors of the founder; the mapping owns both
    // from then on.
    static std::shared_ptr<Mapping> attach(Descriptor fd, Descriptor heap_fd);
    ~Mapping();
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;

    int fd() const { return fd_.get(); }
    int heap_fd() const { return heap_fd_.get(); }
    SegmentHeader &header() const { return *header_; }
    LineBlock *lines() const { return lines_; }
    // For each rank, a bit for every other rank, in whole lines: first of the pending bitmaps, then
    // of the shrink agreement.
    std::atomic<std::uint64_t> *pending() const { return pending_; }
    std::size_t bitmap_words() const { return bitmap_words_; }
    // The rings of the ranks here, in rank order.
    const Rings &rings() const { return *rings_; }

    Lifeline &lifeline() const { return *lifeline_; }

    // The mailbox of a pair.  The first use of one maps all of them.
    std::byte *mailbox(int from, int to);
    // Takes the memory of a mailbox before the first write.  Throws Error(memory).
    void open_mailbox(int from, int to);
    // The heap window of a rank, mapped on first use, at the boundary of a huge page.
    std::byte *heap(int rank);

    // Unmaps everything without writing.  The object cannot be used after this.
    void unmap() noexcept;

private:
    Mapping(Descriptor fd, Descriptor heap_fd) : fd_(std::move(fd)), heap_fd_(std::move(heap_fd)) {}
    void map(const SegmentHeader &shape);
    std::size_t mail_offset() const;
    std::size_t offset_of(int from, int to) const;

    Descriptor fd_, heap_fd_;
    std::vector<Descriptor>
        duplicates_; // kept open: without /proc, closing it would drop the locks
    SegmentHeader *header_ = nullptr;
    LineBlock *lines_ = nullptr;
    std::atomic<std::uint64_t> *pending_ = nullptr;
    std::size_t bitmap_words_ = 0;
    // The values of the header at the time of mapping.
    std::size_t ranks_ = 0, here_ = 0, ring_bytes_ = 0, heap_bytes_ = 0;
    std::unique_ptr<Rings> rings_;
    std::unique_ptr<Lifeline> lifeline_;
    std::atomic<std::byte *> mail_{nullptr};
    std::unique_ptr<std::atomic<std::byte *>[]> heaps_;
};

} // namespace stretto::transport
